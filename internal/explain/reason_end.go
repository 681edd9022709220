package explain

import (
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

func endReasons() table {
	return table{
		task.ReasonSetupFailed:  detailOr("The setup step failed."),
		task.ReasonSetupTimeout: detailOr("The setup step exceeded its time limit."),
		task.ReasonNoCredential: detailOr("A credential is missing."),
		task.ReasonInterrupted:  interrupted,
		task.ReasonOutOfMemory:  always("The agent ran out of memory."),
		task.ReasonDiskFull:     always("The agent filled the sandbox's disk."),
		task.ReasonKilled:       always("The agent was killed from outside."),
		task.ReasonStopped:      always("The agent was stopped from outside."),
		task.ReasonExited: func(r task.Reason) string {
			return fmt.Sprintf("The agent ended with exit code %d and did not say how.", r.ExitCode)
		},
		task.ReasonNotStarted:     always("The agent did not report in."),
		task.ReasonNoWork:         always("The agent beats and does no work."),
		task.ReasonIdle:           always("The agent waited for a message that did not come."),
		task.ReasonSilent:         always("The agent has fallen silent."),
		task.ReasonSandboxGone:    always("The provider says that the sandbox is gone."),
		task.ReasonSandboxStopped: because("The sandbox does not run any more"),
		task.ReasonMaxDuration:    maxDuration,
		task.ReasonNoVerdict:      always("The validator ended without a verdict."),
	}
}

func doubts() table {
	return table{
		task.ReasonStoreUnreachable:    always("The store cannot be asked."),
		task.ReasonSandboxUnreachable:  always("The sandbox is out of reach of this worker."),
		task.ReasonProviderUnreachable: because("The provider cannot be asked"),
		task.ReasonAgentUnknown:        because("The provider cannot tell whether the agent lives"),
		task.ReasonIntakeDown:          always("Events could not be taken in for a while."),
		task.ReasonRelayDown:           always("Events and commands could not be passed on for a while."),
		task.ReasonSpoolUnreadable:     always("The agent's spool cannot be looked at."),
		task.ReasonEndUnsent:           because("The agent has ended and cannot reach the API"),
		task.ReasonEventsUnsent:        because("The agent works and cannot reach the API"),
		task.ReasonEventsPending:       always("The agent beats, and its events are on their way."),
		task.ReasonVerdictPending:      always("Its verdict is accepted and on its way to the task."),
	}
}

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

func maxDuration(r task.Reason) string {
	text := "The attempt reached its longest duration"
	if r.Detail != "" {
		text += "; the last look said: " + strings.TrimRight(r.Detail, ".")
	}
	return text + "."
}
