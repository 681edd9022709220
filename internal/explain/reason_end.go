package explain

import (
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// because joins what happened and the detail, if there is one.
func because(what string) func(task.Reason) string {
	return func(r task.Reason) string { return task.Sentence(what, r.Detail) }
}

// detailOr returns the text of the agent's program, which knows more.
func detailOr(text string) func(task.Reason) string {
	return func(r task.Reason) string {
		if r.Detail != "" {
			return r.Detail
		}
		return text
	}
}

func interrupted(r task.Reason) string {
	if r.Detail != "" {
		return r.Detail
	}
	return "The agent was interrupted" + ByWhom(r.By) + ", and ended."
}

func exited(r task.Reason) string {
	return fmt.Sprintf("The agent ended with exit code %d and did not say how.", r.ExitCode)
}

func maxDuration(r task.Reason) string {
	text := "The attempt reached its longest duration"
	if r.Detail != "" {
		text += "; the last check said: " + strings.TrimRight(r.Detail, ".")
	}
	return text + "."
}

// InShort is a reason with the last line alone of the output that it quotes, for where not all of it has room.
func InShort(reason string) string {
	how, output, quotes := strings.Cut(reason, task.EndOfOutput)
	if !quotes {
		return reason
	}
	output = strings.TrimSpace(output)
	return strings.TrimRight(how, ". ") + ": " + strings.TrimSpace(output[strings.LastIndex(output, "\n")+1:])
}

// ByWhom says who sent a message, by the kind of its sender; empty where nobody knows.
func ByWhom(sender string) string {
	switch sender {
	case task.FromPerson:
		return " by a person"
	case "guardian":
		return " by the guardian"
	case "agent":
		return " by another agent"
	}
	return ""
}
