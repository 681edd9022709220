package task

import (
	"fmt"
	"regexp"
	"strings"
)

// EndOfOutput begins what the reason of a failure quotes of an output.
const EndOfOutput = "The end of its output:\n"

var blankLines = regexp.MustCompile(`\n(\s*\n)+`)

// Squeezed is a text without blank lines: what follows the first one of a reason is not for everybody.
func Squeezed(text string) string { return blankLines.ReplaceAllString(text, "\n") }

// InShort is a reason with the last line alone of the output that it quotes, for where not all of it has room.
func InShort(reason string) string {
	how, output, quotes := strings.Cut(reason, EndOfOutput)
	if !quotes {
		return reason
	}
	output = strings.TrimSpace(output)
	return strings.TrimRight(how, ". ") + ": " + strings.TrimSpace(output[strings.LastIndex(output, "\n")+1:])
}

// longestFirst bounds what is told of another attempt's reason.
const longestFirst = 300

// firstReason tells of the first attempt that failed, where it failed otherwise than the last one: what came later may be
// a consequence of it only.
func firstReason(t Task) string {
	last := lastAttempt(t)
	for _, a := range t.Attempts {
		if a.Outcome != "failed" || a.FailureClass != ClassAgentError {
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
