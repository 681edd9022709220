package acpserver

import (
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// block is a part of a prompt.
type block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	URI      string `json:"uri"`
	Resource struct {
		URI  string  `json:"uri"`
		Text *string `json:"text"`
	} `json:"resource"`
}

// textOf returns a prompt as text. Files below the session's folder get paths relative to it, since the sandbox has a checkout of its
// own.
func textOf(prompt []block, folder string) (string, error) {
	var b strings.Builder
	place := func(uri string) string { return strings.TrimPrefix(uri, "file://"+strings.TrimSuffix(folder, "/")+"/") }
	for _, part := range prompt {
		switch {
		case part.Type == "text":
			b.WriteString(part.Text)
		case part.Type == "resource_link":
			b.WriteString(place(part.URI))
		case part.Type == "resource" && part.Resource.Text != nil:
			b.WriteString("\n\n" + place(part.Resource.URI) + ":\n```\n" + strings.TrimSuffix(*part.Resource.Text, "\n") + "\n```\n")
		default:
			return "", task.Errorf(task.CodeInvalid, "A prompt cannot contain a part of type %q: omoi gives agents texts and links.", part.Type)
		}
	}
	text := strings.TrimSpace(b.String())
	if text == "" {
		return "", task.Errorf(task.CodeInvalid, "The prompt is empty: expected a text.")
	}
	return text, nil
}
