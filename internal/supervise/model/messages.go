package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// decode reads the input of a tool, which may hold no other fields than into.
func (r *reply) decode(tool string, into any) error {
	for _, call := range r.calls() {
		if call.Name == tool {
			return decode(call.Input, into)
		}
	}
	return fmt.Errorf("%s was not called (%s)", tool, r.StopReason)
}

func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the input")
	}
	return nil
}
