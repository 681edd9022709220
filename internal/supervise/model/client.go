package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	defaultURL  = "https://api.anthropic.com"
	apiVersion  = "2023-06-01"
	maxReply    = 8 << 20 // bytes
	firstDelay  = 500 * time.Millisecond
	longestWait = 8 * time.Second // maximum delay between requests, unless the endpoint returns Retry-After
)

// statusError is an HTTP status other than 200. The body is dropped, because it can contain anything.
type statusError int

func (e statusError) Error() string {
	return fmt.Sprintf("the model endpoint returned HTTP status %d", int(e))
}

var errMalformed = errors.New("the model endpoint returned malformed JSON")

// send posts a request to the Messages API and retries up to Settings.Retries times.
func (m *Model) send(ctx context.Context, r request) (*reply, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	for tried := 0; ; tried++ {
		answer, header, err := m.post(ctx, body)
		if err == nil || tried >= m.settings.Retries || !repeatable(err, header) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(delay(header, tried)):
		}
	}
}

// post sends one request. The header is nil if the connection failed.
func (m *Model) post(ctx context.Context, body []byte) (*reply, http.Header, error) {
	url := strings.TrimSuffix(m.settings.BaseURL, "/") + "/v1/messages"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Anthropic-Version", apiVersion)
	request.Header.Set("User-Agent", "omoi")
	if m.settings.APIKey != "" {
		request.Header.Set("X-Api-Key", m.settings.APIKey)
	} else {
		request.Header.Set("Authorization", "Bearer "+m.settings.AuthToken)
	}
	response, err := m.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, response.Header, statusError(response.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return nil, response.Header, err
	}
	answer := &reply{}
	if json.Unmarshal(raw, answer) != nil {
		return nil, response.Header, errMalformed
	}
	return answer, response.Header, nil
}

// repeatable reports whether a retry of the same request can succeed.
func repeatable(err error, header http.Header) bool {
	switch header.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	status, ok := err.(statusError) //nolint:errorlint // post does not wrap it
	switch {
	case !ok: // connection failure or malformed reply
		return !errors.Is(err, errMalformed)
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError
}

// delay returns the delay that the endpoint requests, else an exponential backoff with jitter.
func delay(header http.Header, tried int) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil {
		return time.Duration(ms * float64(time.Millisecond))
	}
	after := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(after, 64); err == nil {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(after); err == nil {
		return time.Until(at)
	}
	d := min(firstDelay<<min(tried, 10), longestWait)
	return d - rand.N(d/4) //nolint:gosec,mnd // not a secret
}

// request is the body of POST /v1/messages.
type request struct {
	Model      string    `json:"model"`
	MaxTokens  int64     `json:"max_tokens"`
	System     []block   `json:"system"`
	Messages   []message `json:"messages"`
	Tools      []tool    `json:"tools"`
	ToolChoice choice    `json:"tool_choice"`
}

// message has blocks that omoi wrote, or raw blocks of the model.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`    // of a tool_use
	Name      string          `json:"name,omitempty"`  // of a tool_use
	Input     json.RawMessage `json:"input,omitempty"` // of a tool_use
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"` // of a tool_result
	IsError   bool            `json:"is_error,omitempty"`
}

// tool is the definition of the tool by which the model answers.
type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema schema `json:"input_schema"`
}

// schema is the JSON schema of an object without additional properties.
type schema struct {
	Type       string         `json:"type"`
	Properties map[string]any `json:"properties"`
	Required   []string       `json:"required"`
	Additional bool           `json:"additionalProperties"` //nolint:tagliatelle // a word of JSON schema
}

// form returns a tool with the given input fields; all are required.
func form(name, doc string, fields map[string]any) tool {
	return tool{Name: name, Description: doc, InputSchema: schema{Type: "object", Properties: fields, Required: slices.Sorted(maps.Keys(fields))}}
}

// text returns the schema of a string.
func text(doc string) map[string]any { return map[string]any{"type": "string", "description": doc} }

// share returns the schema of a number from 0 to 1.
func share(doc string) map[string]any {
	return map[string]any{"type": "number", "minimum": 0, "maximum": 1, "description": doc}
}

type choice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// reply is the response to a request.
type reply struct {
	Model      string            `json:"model"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      usage             `json:"usage"`
}

type usage struct {
	Input         int64 `json:"input_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
	Output        int64 `json:"output_tokens"`
}

func userMessage(b block) message { return message{Role: "user", Content: []block{b}} }

// calls returns the tool calls of a reply.
func (r *reply) calls() (calls []block) {
	for _, raw := range r.Content {
		var b block
		if json.Unmarshal(raw, &b) == nil && b.Type == "tool_use" {
			calls = append(calls, b)
		}
	}
	return calls
}

// decode reads the input of the tool call into a struct. Unknown fields are errors. All required fields must be
// present, except the nullable ones.
func (r *reply) decode(form tool, into any, nullable ...string) error {
	for _, call := range r.calls() {
		if call.Name == form.Name {
			return form.decode(call.Input, into, nullable)
		}
	}
	return fmt.Errorf("%s was not called (%s)", form.Name, r.StopReason)
}

func (form tool) decode(raw []byte, into any, nullable []string) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected data after the input")
	}
	var given map[string]any
	_ = json.Unmarshal(raw, &given) // decoded above without an error
	for _, name := range form.InputSchema.Required {
		if given[name] == nil && !slices.Contains(nullable, name) {
			return fmt.Errorf("the required field %s is missing", name)
		}
	}
	return nil
}
