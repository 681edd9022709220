// Package jsonrpc reads and writes messages of JSON-RPC 2.0, one a line, as the Agent Client Protocol frames them.
package jsonrpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
)

// MaxLine is the longest line that is read whole, in bytes.
const MaxLine = 64 << 20

const headBytes = 64 << 10 // what is read of a longer line

// Codes of errors.
const (
	CodeParse    = -32700
	CodeRequest  = -32600
	CodeMethod   = -32601
	CodeParams   = -32602
	CodeInternal = -32603
	CodeNotFound = -32002 // of the Agent Client Protocol
)

// Frame is one message: a request, a notification or a response.
type Frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`

	Raw   []byte `json:"-"`
	Bytes int    `json:"-"` // full length of a line that was cut; 0: the whole line
}

// Error is the error of a response.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Request reports whether the sender of the message waits for a response.
func (f *Frame) Request() bool { return f.Method != "" && len(f.ID) > 0 && string(f.ID) != "null" }

// Outcome returns the result of a response, or its error.
func (f *Frame) Outcome() (json.RawMessage, error) {
	if f.Error != nil {
		return nil, f.Error
	}
	return f.Result, nil
}

// Read reads a line. broken reports that it is not a message, or longer than 64 MiB; then only Raw and Bytes are set. Read returns nil
// for an empty line.
func Read(in *bufio.Reader) (f *Frame, broken bool, err error) {
	raw, full, err := textcut.ReadLine(in, MaxLine, headBytes)
	if full > len(raw) {
		return &Frame{Raw: raw, Bytes: full}, true, err
	}
	if f = Parse(raw); f == nil && len(bytes.TrimSpace(raw)) > 0 {
		return &Frame{Raw: raw}, true, err
	}
	return f, false, err
}

// Parse parses a line; nil if it is not a JSON object. A field of an unexpected type is skipped.
func Parse(raw []byte) *Frame {
	raw = bytes.TrimSpace(raw)
	f := &Frame{Raw: raw}
	if len(raw) == 0 || raw[0] != '{' || !readable(json.Unmarshal(raw, f)) {
		return nil
	}
	return f
}

// readable reports whether a decoding error is only about single fields, which then stay empty.
func readable(err error) bool {
	_, broken := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || broken
}

// Into decodes a part of a message, and skips fields of unexpected types.
func Into[T any](raw json.RawMessage) (v T) {
	_ = json.Unmarshal(raw, &v)
	return v
}

// Response returns the response to a request: the result, or the error if there is one.
func Response(id json.RawMessage, result any, refused *Error) map[string]any {
	if refused != nil {
		return map[string]any{"jsonrpc": "2.0", "id": id, "error": refused}
	}
	return map[string]any{"jsonrpc": "2.0", "id": id, "result": result}
}

// Notification returns a message without a response.
func Notification(method string, params any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
}
