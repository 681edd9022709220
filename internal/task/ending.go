package task

import (
	"regexp"
)

// EndOfOutput begins what the reason of a failure quotes of an output.
const EndOfOutput = "The end of its output:\n"

var blankLines = regexp.MustCompile(`\n(\s*\n)+`)

// Squeezed is a text without blank lines: what follows the first one of a reason is not for everybody.
func Squeezed(text string) string { return blankLines.ReplaceAllString(text, "\n") }

// WasInterrupted begins the reason of an agent that was interrupted and that nobody spoke to again.
const WasInterrupted = "The agent was interrupted"

// FromPerson is the kind of sender that a person is.
const FromPerson = "person"
