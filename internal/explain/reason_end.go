package explain

import (
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// because joins what happened and the detail, if there is one.
func because(what string) func(task.Reason) string {
	return func(r task.Reason) string { return sentence(what, r.Detail) }
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
	return "The agent was interrupted" + task.ByWhom(r.By) + ", and ended."
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
