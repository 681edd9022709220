package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

type block map[string]any

type message struct {
	ID           string  `json:"id"`
	Type         string  `json:"type"`
	Role         string  `json:"role"`
	Model        string  `json:"model"`
	Content      []block `json:"content"`
	StopReason   string  `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
	Usage        Usage   `json:"usage"`
}

// stream writes server-sent events.
type stream struct {
	w http.ResponseWriter
}

// data writes an event without a name.
func (s stream) data(data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	s.line("data: %s\n\n", raw)
}

func (s stream) line(format string, args ...any) {
	_, _ = fmt.Fprintf(s.w, format, args...)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// event writes an event with a name, which the data repeat.
func (s stream) event(kind string, data map[string]any) {
	data["type"] = kind
	s.line("event: %s\n", kind)
	s.data(data)
}

func halves(text string) (first, rest string) {
	at := strings.IndexByte(text[len(text)/2:], ' ') + len(text)/2
	if at < len(text)/2 {
		at = len(text)
	}
	return text[:at], text[at:]
}
