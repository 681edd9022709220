package task

import "strings"

// WasInterrupted begins the reason of an attempt that ended by an interrupt.
const WasInterrupted = "The agent was interrupted"

// GoesOnByRetry ends the reason of one whose work nobody goes on with by itself.
const GoesOnByRetry = " Its work is kept: omoi retry goes on with it."

// FromPerson is the kind of sender that a person is.
const FromPerson = "person"

// EndedByInterrupt reports whether an attempt ended because somebody interrupted its agent, and at no limit.
func EndedByInterrupt(class FailureClass, reason string) bool {
	return (class == ClassStopped || class == ClassAgentError) && strings.HasPrefix(reason, WasInterrupted)
}

// ByWhom says who sent a message, by the kind of its sender; empty where nobody knows.
func ByWhom(sender string) string {
	switch sender {
	case FromPerson:
		return " by a person"
	case "guardian":
		return " by the guardian"
	case "agent":
		return " by another agent"
	}
	return ""
}
