package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Request is what an agent sent.
type Request struct {
	Header   http.Header     `json:"-"`
	Path     string          `json:"-"`
	Model    string          `json:"model"`
	Stream   bool            `json:"stream"`
	System   json.RawMessage `json:"system"`
	Tools    []namedTool     `json:"tools"`
	Messages []entry         `json:"messages"`

	dialect dialect
}

type namedTool struct {
	Name string `json:"name"`
}

// UnmarshalJSON reads a tool, or the function of one.
func (t *namedTool) UnmarshalJSON(raw []byte) error {
	var tool struct {
		Name     string `json:"name"`
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	err := json.Unmarshal(raw, &tool)
	t.Name = cmp.Or(tool.Name, tool.Function.Name, tool.Type)
	return err
}

type entry struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// part is a block of a message; a plain text is one too.
type part struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"` // of a tool's result
}

func parts(raw json.RawMessage) []part {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []part{{Type: "text", Text: text}}
	}
	var list []part
	_ = json.Unmarshal(raw, &list) // what is neither says nothing
	return list
}

// LastToolResult is the text of the newest result of a tool.
func (r Request) LastToolResult() string {
	for _, v := range slices.Backward(r.Messages) {
		list := parts(v.Content)
		for _, l := range slices.Backward(list) {
			if l.Type == "tool_result" {
				return joined(l.Content)
			}
		}
	}
	return ""
}

func joined(raw json.RawMessage) string {
	texts := []string{}
	for _, p := range parts(raw) {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}

// last returns the newest messages, for errors.
func (r Request) last() string {
	text, _ := json.Marshal(r.Messages[max(0, len(r.Messages)-3):]) //nolint:errchkjson // the JSON of a request
	return string(text)
}

// Says reports whether the messages hold a text, in whatever role.
func (r Request) Says(text string) bool {
	for _, e := range r.Messages {
		for _, p := range parts(e.Content) {
			if strings.Contains(p.Text, text) || strings.Contains(joined(p.Content), text) {
				return true
			}
		}
	}
	return false
}

// Offers reports whether the agent offers a tool.
func (r Request) Offers(name string) bool {
	for _, t := range r.Tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

// Saying expects texts in the messages.
func Saying(texts ...string) func(Request) error {
	return func(r Request) error {
		for _, text := range texts {
			if !r.Says(text) {
				return fmt.Errorf("the request does not say %q", text)
			}
		}
		return nil
	}
}

func fill(text, last string) string {
	return strings.ReplaceAll(text, "{{last_tool_result}}", strings.TrimSpace(last))
}

func toolID(message string, i int) string { return fmt.Sprintf("toolu_%s_%d", message, i) }
