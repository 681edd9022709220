package acpserver

import (
	"net/url"
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
	for _, part := range prompt {
		switch {
		case part.Type == "text":
			b.WriteString(part.Text)
		case part.Type == "resource_link":
			b.WriteString(place(part.URI, folder))
		case part.Type == "resource" && part.Resource.Text != nil:
			b.WriteString("\n\n" + place(part.Resource.URI, folder) + ":\n" + fenced("", strings.TrimSuffix(*part.Resource.Text, "\n")) + "\n")
		case part.Type == "resource":
			b.WriteString("\n\nThe attachment " + place(part.Resource.URI, folder) + " is left out: it is not a text.\n")
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

// fenced returns a text as a code block of Markdown. Its fence is longer than each run of backticks in the text.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + text + "\n" + fence
}

// place returns the path of a file below the folder relative to it, the absolute path of another file, or the link itself.
func place(link, folder string) string {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "file" {
		return link
	}
	path := strings.TrimPrefix(u.Path, strings.TrimSuffix(folder, "/")+"/")
	if u.Fragment != "" {
		path += "#" + u.Fragment // for example lines
	}
	return path
}
