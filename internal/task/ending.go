package task

import (
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
