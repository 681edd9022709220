package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// request is the body of POST /v1/messages.
type request struct {
	Model      string    `json:"model"`
	MaxTokens  int64     `json:"max_tokens"`
	System     []block   `json:"system"`
	Messages   []message `json:"messages"`
	Tools      []tool    `json:"tools"`
	ToolChoice choice    `json:"tool_choice"`
}

// message holds blocks: of ours, or as the model sent them.
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

// tool is the form in which the model answers.
type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema schema `json:"input_schema"`
}

// schema is a JSON schema of an object without further properties.
type schema struct {
	Type       string         `json:"type"`
	Properties map[string]any `json:"properties"`
	Required   []string       `json:"required"`
	Additional bool           `json:"additionalProperties"` //nolint:tagliatelle // a word of JSON schema
}

// form makes a tool of the fields of an answer; all of them are required.
func form(name, doc string, fields map[string]any) tool {
	return tool{Name: name, Description: doc, InputSchema: schema{Type: "object", Properties: fields, Required: slices.Sorted(maps.Keys(fields))}}
}

// text describes a field of a form that is a string.
func text(doc string) map[string]any { return map[string]any{"type": "string", "description": doc} }

// share describes one that is a number from 0 to 1.
func share(doc string) map[string]any {
	return map[string]any{"type": "number", "minimum": 0, "maximum": 1, "description": doc}
}

type choice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// reply is the answer to a request.
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

// calls returns the blocks that call a tool.
func (r *reply) calls() (calls []block) {
	for _, raw := range r.Content {
		var b block
		if json.Unmarshal(raw, &b) == nil && b.Type == "tool_use" {
			calls = append(calls, b)
		}
	}
	return calls
}

// decode reads the input of a form, which may hold no other fields than into. The nullable ones may be null, or missing.
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
		return errors.New("something follows the input")
	}
	var given map[string]any
	_ = json.Unmarshal(raw, &given) // it was read already
	for _, name := range form.InputSchema.Required {
		if given[name] == nil && !slices.Contains(nullable, name) {
			return fmt.Errorf("the required field %s is missing", name)
		}
	}
	return nil
}
