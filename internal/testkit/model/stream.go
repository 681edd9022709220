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

func (s stream) event(kind string, data map[string]any) {
	data["type"] = kind
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, raw)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// begin says who answers, with what is known of the cost by then.
func (s stream) begin(m message) {
	usage := m.Usage
	usage.Output = 1
	s.event("message_start", map[string]any{"message": map[string]any{
		"id": m.ID, "type": "message", "role": "assistant", "model": m.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}})
}

func (s stream) end(m message) {
	s.event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": m.StopReason, "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": m.Usage.Output},
	})
	s.event("message_stop", map[string]any{})
}

// block sends one block in two parts; between them is called in the middle of it.
func (s stream) block(index int, b block, between func()) {
	begin, deltas := parted(b)
	s.event("content_block_start", map[string]any{"index": index, "content_block": begin})
	for i, delta := range deltas {
		if i == len(deltas)-1 {
			between()
		}
		s.event("content_block_delta", map[string]any{"index": index, "delta": delta})
	}
	s.event("content_block_stop", map[string]any{"index": index})
}

func parted(b block) (begin block, deltas []block) {
	switch b["type"] {
	case "tool_use":
		raw, err := json.Marshal(b["input"])
		if err != nil {
			panic(err)
		}
		first, rest := halves(string(raw))
		return block{"type": "tool_use", "id": b["id"], "name": b["name"], "input": map[string]any{}},
			[]block{{"type": "input_json_delta", "partial_json": first}, {"type": "input_json_delta", "partial_json": rest}}
	case "thinking":
		first, rest := halves(fmt.Sprint(b["thinking"]))
		return block{"type": "thinking", "thinking": "", "signature": ""}, []block{
			{"type": "thinking_delta", "thinking": first},
			{"type": "thinking_delta", "thinking": rest},
			{"type": "signature_delta", "signature": b["signature"]},
		}
	}
	first, rest := halves(fmt.Sprint(b["text"]))
	return block{"type": "text", "text": ""}, []block{
		{"type": "text_delta", "text": first}, {"type": "text_delta", "text": rest},
	}
}

func halves(text string) (first, rest string) {
	at := strings.IndexByte(text[len(text)/2:], ' ') + len(text)/2
	if at < len(text)/2 {
		at = len(text)
	}
	return text[:at], text[at:]
}
