package taskcmd

import (
	"encoding/json"
	"strings"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
)

// resultLines is how much of an answer show prints; --json has all of it.
const resultLines = 40

// showResult prints what the agent answered.
func (s *session) showResult(t client.Task) {
	output := strings.Trim(outputOf(t.Result), "\r\n")
	if strings.TrimSpace(output) == "" {
		return
	}
	s.say("\n%s", s.style().Bold("Result"))
	n := 0
	for line := range strings.Lines(output) {
		if n++; n <= resultLines {
			s.say("  %s", render.Clean(strings.TrimRight(line, "\r\n")))
		}
	}
	if n > resultLines {
		s.say("  … %s more. Next: omoi show %s --json", render.Count(n-resultLines, "line"), render.Short(t.ID))
	}
}

// outputOf is the text of a result: its output, or the result itself where an agent sent a text.
func outputOf(result json.RawMessage) string {
	var text string
	if json.Unmarshal(result, &text) == nil {
		return text
	}
	var object struct {
		Output string `json:"output"`
	}
	_ = json.Unmarshal(result, &object) // agents from outside send what they like
	return object.Output
}
