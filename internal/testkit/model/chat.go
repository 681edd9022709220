package model

import (
	"encoding/json"
	"net/http"
)

// chat is the API Chat Completions.
func chat() dialect {
	return dialect{read: readChat, whole: wholeChat, stream: streamChat}
}

func readChat(r *http.Request) (req Request, err error) {
	err = json.NewDecoder(r.Body).Decode(&req)
	for i, e := range req.Messages {
		if e.Role == "tool" {
			req.Messages[i] = resultOf(e.Content)
		}
	}
	return req, err
}

func wholeChat(m message) any {
	said, calls := "", []any{}
	for i, b := range m.Content {
		switch b["type"] {
		case "text":
			said += b.said()
		case "tool_use":
			calls = append(calls, chatCall(i, b, b.said()))
		}
	}
	whole := map[string]any{"role": "assistant", "content": said}
	if len(calls) > 0 {
		whole["tool_calls"] = calls
	}
	return chatDocument(m, map[string]any{"index": 0, "message": whole, "finish_reason": chatStop(m.StopReason)}, "chat.completion")
}

func chatCall(index int, b block, arguments string) map[string]any {
	return map[string]any{"index": index, "id": b["id"], "type": "function", "function": map[string]any{"name": b["name"], "arguments": arguments}}
}

func chatDocument(m message, choice map[string]any, kind string) map[string]any {
	in := m.Usage.Input + m.Usage.CacheRead
	return map[string]any{
		"id": m.ID, "object": kind, "created": 0, "model": m.Model, "choices": []any{choice},
		"usage": map[string]any{
			"prompt_tokens": in, "completion_tokens": m.Usage.Output, "total_tokens": in + m.Usage.Output,
			"prompt_tokens_details": map[string]any{"cached_tokens": m.Usage.CacheRead},
		},
	}
}

func chatStop(reason string) string {
	if name, ok := map[string]string{"max_tokens": "length", "refusal": "content_filter", "end_turn": "stop", "tool_use": "tool_calls"}[reason]; ok {
		return name
	}
	return reason
}

func streamChat(out stream, m message, between func()) {
	chunk := func(delta map[string]any, stop any) {
		document := chatDocument(m, map[string]any{"index": 0, "delta": delta, "finish_reason": stop}, "chat.completion.chunk")
		if stop == nil {
			delete(document, "usage")
		}
		out.data(document)
	}
	chunk(map[string]any{"role": "assistant", "content": ""}, nil)
	for i, b := range m.Content {
		first, rest := halves(b.said())
		switch b["type"] {
		case "tool_use":
			chunk(map[string]any{"tool_calls": []any{chatCall(i, b, first)}}, nil)
			between()
			chunk(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": rest}}}}, nil)
		case "thinking":
			chunk(map[string]any{"reasoning_content": b.said()}, nil)
		default:
			chunk(map[string]any{"content": first}, nil)
			between()
			chunk(map[string]any{"content": rest}, nil)
		}
	}
	chunk(map[string]any{}, chatStop(m.StopReason))
	out.line("data: [DONE]\n\n")
}
