package model

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// responses is the Responses API.
func responses() dialect {
	return dialect{read: readResponses, whole: func(m message) any { return responseOf(m, "completed", outputOf(m)) }, stream: streamResponses}
}

// responsesRequest is what differs from the Messages API in the body of a request.
type responsesRequest struct {
	Request

	Instructions json.RawMessage `json:"instructions"`
	Input        []struct {
		entry

		Type   string          `json:"type"`
		Output json.RawMessage `json:"output"`
	} `json:"input"`
	Text struct {
		Format struct {
			Type string `json:"type"`
		} `json:"format"`
	} `json:"text"`
}

func readResponses(r *http.Request) (Request, error) {
	var body responsesRequest
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return Request{}, err
	}
	req := body.Request
	req.System = body.Instructions
	if body.Text.Format.Type == "json_schema" { // a title, for which the tools are offered too
		req.Tools = nil
	}
	for _, item := range body.Input {
		switch {
		case item.Output != nil:
			req.Messages = append(req.Messages, resultOf(item.Output))
		case item.Role != "":
			req.Messages = append(req.Messages, item.entry)
		}
	}
	return req, nil
}

func outputOf(m message) []any {
	items := []any{}
	for i, b := range m.Content {
		if item := outputItem(m, i, b); item != nil {
			items = append(items, item)
		}
	}
	return items
}

// outputItem returns a block as an item of the output; nil: the API has none for it.
func outputItem(m message, index int, b block) map[string]any {
	id := fmt.Sprintf("%s_%d", m.ID, index)
	switch b["type"] {
	case "tool_use":
		return map[string]any{"type": "function_call", "id": id, "call_id": b["id"], "name": b["name"], "arguments": b.said(), "status": "completed"}
	case "thinking":
		return nil
	}
	text := map[string]any{"type": "output_text", "text": b.said(), "annotations": []any{}}
	return map[string]any{"type": "message", "id": id, "role": "assistant", "status": "completed", "content": []any{text}}
}

func responseOf(m message, status string, output []any) map[string]any {
	in := m.Usage.Input + m.Usage.CacheRead
	return map[string]any{
		"id": m.ID, "object": "response", "created_at": 0, "status": status, "model": m.Model, "output": output,
		"usage": map[string]any{
			"input_tokens": in, "output_tokens": m.Usage.Output, "total_tokens": in + m.Usage.Output,
			"input_tokens_details": map[string]any{"cached_tokens": m.Usage.CacheRead}, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
		},
	}
}

func streamResponses(out stream, m message, between func()) {
	out.event("response.created", map[string]any{"response": responseOf(m, "in_progress", []any{})})
	for i, b := range m.Content {
		if item := outputItem(m, i, b); item != nil {
			out.item(i, item, b, between)
		}
	}
	if why, ok := map[string]string{"max_tokens": "max_output_tokens", "refusal": "content_filter"}[m.StopReason]; ok {
		response := responseOf(m, "incomplete", outputOf(m))
		response["incomplete_details"] = map[string]any{"reason": why}
		out.event("response.incomplete", map[string]any{"response": response})
		return
	}
	out.event("response.completed", map[string]any{"response": responseOf(m, "completed", outputOf(m))})
}

// item sends one item of the output in two parts.
func (s stream) item(index int, item map[string]any, b block, between func()) {
	of := func(more map[string]any) map[string]any {
		more["item_id"], more["output_index"], more["content_index"] = item["id"], index, 0
		return more
	}
	kind, begun := "response.output_text", map[string]any{"type": "message", "id": item["id"], "role": "assistant", "status": "in_progress", "content": []any{}}
	if item["type"] == "function_call" {
		kind, begun = "response.function_call_arguments", map[string]any{
			"type": "function_call", "id": item["id"], "call_id": item["call_id"], "name": item["name"], "arguments": "", "status": "in_progress",
		}
	}
	s.event("response.output_item.added", map[string]any{"output_index": index, "item": begun})
	first, rest := halves(b.said())
	s.event(kind+".delta", of(map[string]any{"delta": first}))
	between()
	s.event(kind+".delta", of(map[string]any{"delta": rest}))
	s.event(kind+".done", of(map[string]any{"text": b.said(), "arguments": b.said()}))
	s.event("response.output_item.done", map[string]any{"output_index": index, "item": item})
}
