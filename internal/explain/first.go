package explain

import (
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// longestFirst bounds what is told of another attempt's reason.
const longestFirst = 300

// firstReason tells of the first attempt that failed, where it failed otherwise than the last one: what came later may be
// a consequence of it only.
func firstReason(t task.Task) string {
	last := t.Last()
	for _, a := range t.Attempts {
		if a.Outcome != "failed" || a.FailureClass != task.ClassAgentError {
			continue
		}
		said := strings.Join(strings.Fields(InShort(a.Reason)), " ")
		if a.Number == last.Number || said == "" || said == strings.Join(strings.Fields(InShort(last.Reason)), " ") {
			return ""
		}
		return fmt.Sprintf(" Attempt %d had failed otherwise: %s.", a.Number, strings.TrimRight(beginning(said, longestFirst), "."))
	}
	return ""
}

// beginning is a text of at most n characters.
func beginning(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return text
}
