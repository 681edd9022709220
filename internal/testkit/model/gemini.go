package model

import (
	"encoding/json"
	"net/http"
	"path"
	"strings"
)

// gemini is the Gemini API.
func gemini() dialect {
	return dialect{read: readGemini, whole: wholeGemini, stream: streamGemini}
}

// geminiRequest is the body of a request. The path names the model and the form of the answer.
type geminiRequest struct {
	System   json.RawMessage `json:"systemInstruction"` //nolint:tagliatelle // Google's name
	Contents []struct {
		Role  string `json:"role"`
		Parts []struct {
			Text   *string `json:"text"`
			Result *struct {
				Response map[string]any `json:"response"`
			} `json:"functionResponse"` //nolint:tagliatelle // Google's name
		} `json:"parts"`
	} `json:"contents"`
	Tools []struct {
		Functions []namedTool `json:"functionDeclarations"` //nolint:tagliatelle // Google's name
	} `json:"tools"`
}

func readGemini(r *http.Request) (Request, error) {
	var body geminiRequest
	model, verb, _ := strings.Cut(path.Base(r.URL.Path), ":")
	req := Request{Model: model, Stream: verb == "streamGenerateContent"}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return req, err
	}
	req.System = body.System
	for _, t := range body.Tools {
		req.Tools = append(req.Tools, t.Functions...)
	}
	for _, c := range body.Contents {
		for _, p := range c.Parts {
			switch {
			case p.Result != nil:
				output, _ := p.Result.Response["output"].(string)
				req.Messages = append(req.Messages, resultOf(content(output)))
			case p.Text != nil:
				req.Messages = append(req.Messages, entry{Role: c.Role, Content: content(*p.Text)})
			}
		}
	}
	return req, nil
}

func geminiPart(b block, said string) map[string]any {
	switch b["type"] {
	case "tool_use":
		return map[string]any{"functionCall": map[string]any{"id": b["id"], "name": b["name"], "args": b["input"]}, "thoughtSignature": "c2lnbmVk"}
	case "thinking":
		return map[string]any{"text": said, "thought": true}
	}
	return map[string]any{"text": said}
}

func geminiDocument(m message, parts []any, stop string) map[string]any {
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
	if stop != "" {
		candidate["finishReason"] = stop
	}
	in := m.Usage.Input + m.Usage.CacheRead
	return map[string]any{"candidates": []any{candidate}, "modelVersion": m.Model, "usageMetadata": map[string]any{
		"promptTokenCount": in, "candidatesTokenCount": m.Usage.Output, "totalTokenCount": in + m.Usage.Output, "cachedContentTokenCount": m.Usage.CacheRead,
	}}
}

func geminiStop(reason string) string {
	if name, ok := map[string]string{"max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}[reason]; ok {
		return name
	}
	return "STOP"
}

func wholeGemini(m message) any {
	parts := []any{}
	for _, b := range m.Content {
		parts = append(parts, geminiPart(b, b.said()))
	}
	return geminiDocument(m, parts, geminiStop(m.StopReason))
}

func streamGemini(out stream, m message, between func()) {
	for _, b := range m.Content {
		first, rest := halves(b.said())
		if b["type"] == "tool_use" {
			between()
			out.data(geminiDocument(m, []any{geminiPart(b, "")}, ""))
			continue
		}
		out.data(geminiDocument(m, []any{geminiPart(b, first)}, ""))
		between()
		out.data(geminiDocument(m, []any{geminiPart(b, rest)}, ""))
	}
	out.data(geminiDocument(m, []any{map[string]any{"text": ""}}, geminiStop(m.StopReason)))
}
