package task

// WasInterrupted begins the reason of an agent that was interrupted and that nobody spoke to again.
const WasInterrupted = "The agent was interrupted"

// FromPerson is the kind of sender that a person is.
const FromPerson = "person"

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
