package model

import (
	"encoding/json"
	"net/http"
)

// messages is the Messages API.
func messages() dialect {
	return dialect{read: readMessages, whole: func(m message) any { return m }, stream: streamMessages}
}

func readMessages(r *http.Request) (req Request, err error) {
	err = json.NewDecoder(r.Body).Decode(&req)
	return req, err
}

func streamMessages(out stream, m message, between func()) {
	out.begin(m)
	for i, b := range m.Content {
		out.block(i, b, between)
	}
	out.event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": m.StopReason, "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": m.Usage.Output},
	})
	out.event("message_stop", map[string]any{})
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
	first, rest := halves(b.said())
	switch b["type"] {
	case "tool_use":
		return block{"type": "tool_use", "id": b["id"], "name": b["name"], "input": map[string]any{}},
			[]block{{"type": "input_json_delta", "partial_json": first}, {"type": "input_json_delta", "partial_json": rest}}
	case "thinking":
		return block{"type": "thinking", "thinking": "", "signature": ""}, []block{
			{"type": "thinking_delta", "thinking": first},
			{"type": "thinking_delta", "thinking": rest},
			{"type": "signature_delta", "signature": b["signature"]},
		}
	}
	return block{"type": "text", "text": ""}, []block{
		{"type": "text_delta", "text": first}, {"type": "text_delta", "text": rest},
	}
}
