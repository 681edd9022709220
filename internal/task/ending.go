package task

import (
	"regexp"
)

// EndOfOutput begins what the reason of a failure quotes of an output.
const EndOfOutput = "The end of its output:\n"

var blankLines = regexp.MustCompile(`\n(\s*\n)+`)

// Squeezed is a text without blank lines: what follows the first one of a reason is not for everybody.
func Squeezed(text string) string { return blankLines.ReplaceAllString(text, "\n") }
