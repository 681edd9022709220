package review

import (
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

const maxComments = 60 << 10 // bytes of the text for the agent, which fits into a message

// Opening is the first line of the text for the agent.
const Opening = "Review comments on your work. Change what they ask for, and commit to the same branch."

// Comment is a user's comment on lines of a file.
type Comment struct {
	Path    string `json:"path" minLength:"1" maxLength:"4096" doc:"Path of the file, as the list of changes has it."`
	Side    string `json:"side,omitempty" enum:"new,old" default:"new" doc:"new: the lines of the newer files; old: those of the older files."`
	Line    int    `json:"line,omitempty" minimum:"0" maximum:"100000000" doc:"First line, from 1. 0, and default: the whole file."`
	EndLine int    `json:"end_line,omitempty" minimum:"0" maximum:"100000000" doc:"Last line. 0, and default: line."`
	Text    string `json:"text" minLength:"1" maxLength:"20000" doc:"What the agent should know or change."`
	Quote   string `json:"quote,omitempty" maxLength:"20000" doc:"The lines, as the user saw them. Default: none."`
}

// Comments are a user's comments on the work of a task.
type Comments struct {
	From     string    `json:"from,omitempty" maxLength:"30" default:"base" doc:"Point of the older files that the user saw."`
	To       string    `json:"to,omitempty" maxLength:"30" default:"latest" doc:"Point of the newer files that the user saw."`
	Text     string    `json:"text,omitempty" maxLength:"20000" doc:"Comment on the work as a whole. Default: none; then comments must not be empty."`
	Comments []Comment `json:"comments,omitempty" maxItems:"200" doc:"What should change at which lines, one place each."`
}

// Message returns all comments as one text for an agent. [task.CodeInvalid] names a field that is not valid.
func (c Comments) Message() (string, error) {
	if strings.TrimSpace(c.Text) == "" && len(c.Comments) == 0 {
		return "", task.Invalid("comments", "Missing comments: expected text, or at least one of comments.")
	}
	var b strings.Builder
	b.WriteString(Opening + "\n")
	if c.Text != "" {
		b.WriteString("\n" + strings.TrimSpace(c.Text) + "\n")
	}
	for n, one := range c.Comments {
		if one.EndLine != 0 && one.EndLine < one.Line || one.EndLine != 0 && one.Line == 0 {
			return "", task.Invalid(fmt.Sprintf("comments[%d].end_line", n), "Invalid end_line %d: expected line %d or a later one.", one.EndLine, one.Line)
		}
		fmt.Fprintf(&b, "\n%d. %s\n", n+1, c.place(one))
		indent(&b, "   > ", one.Quote)
		indent(&b, "   ", one.Text)
	}
	if strings.ContainsRune(b.String(), 0) {
		return "", task.Invalid("comments", "The comments must not contain the character U+0000.")
	}
	if b.Len() > maxComments {
		return "", task.Invalid("comments", "The comments have %d bytes, the limit is %d. Next: send them in several requests", b.Len(), maxComments)
	}
	return b.String(), nil
}

// place names the lines of a comment.
func (c Comments) place(one Comment) string {
	at := fmt.Sprintf("%q", one.Path)
	if !strings.ContainsFunc(one.Path, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
		at = one.Path
	}
	switch {
	case one.EndLine > one.Line:
		at += fmt.Sprintf(", lines %d to %d", one.Line, one.EndLine)
	case one.Line > 0:
		at += fmt.Sprintf(", line %d", one.Line)
	}
	if one.Side == "old" {
		return at + ", before the change" + seenAt(c.From)
	}
	return at + seenAt(c.To)
}

// seenAt names a point that an agent may have left behind since.
func seenAt(point string) string {
	if point == "" || point == Latest || point == Base {
		return ""
	}
	return " (at " + point + ")"
}

func indent(b *strings.Builder, with, text string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		b.WriteString(with + strings.TrimRight(line, "\r\n") + "\n")
	}
}
