package explain

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Answer returns the command that answers the question of a task's agent.
func Answer(taskID string) string { return "omoi answer " + taskID + ` "<text>"` }

func send(taskID string) string { return "omoi send " + taskID + ` "<text>"` }

// queueNext returns the next step for a task that waits for admission.
func queueNext(t task.Task) string {
	switch {
	case OutOfBudget(t):
		return RaiseBudget(t)
	case t.QueueReason.Code == task.ReasonAutonomousOff:
		return "omoi project update " + projectOf(t) + " --autonomous-execution"
	case t.QueueReason.Code == task.ReasonOrganizationLimit, t.QueueReason.Code == task.ReasonOrganizationPaused:
		return "omoi organization list"
	case t.QueueReason.Code == task.ReasonProjectLimit:
		return "omoi project update " + projectOf(t) + " --max-concurrent-tasks <n>"
	}
	return "omoi ps"
}

// troubleNext returns the next step for an admitted task without a sandbox.
func troubleNext(r task.Reason) string {
	if r.Code == task.ReasonEarlierSandbox || r.Code == task.ReasonUnverifiedLimit {
		return "omoi sandbox list"
	}
	if r.Code == task.ReasonNoHost || r.Code == task.ReasonHostsFull {
		return "omoi host list"
	}
	return "omoi doctor"
}

// FailureNext returns the next command after a failure of a class and reason. same reports that several attempts in a
// row failed with the same error.
func FailureNext(t task.Task, class task.FailureClass, reason task.Reason, same bool) string {
	if reason.OfSetup() {
		return setupNext(t, reason)
	}
	if reason.Code == task.ReasonInterrupted {
		return "omoi retry " + t.ID
	}
	if reason.Code == task.ReasonNoVerdict {
		return "omoi logs " + t.ID
	}
	switch class {
	case task.ClassCredentials:
		return credentialsNext(reason)
	case task.ClassBudget:
		return RaiseBudget(t)
	case task.ClassInfrastructure:
		return "omoi doctor"
	case task.ClassInvalidInput, task.ClassStopped:
		return "omoi show " + t.ID
	case task.ClassAgentError:
		if same { // another attempt would not help
			return "omoi logs " + t.ID
		}
	case task.ClassNone, task.ClassProviderLimit, task.ClassResources, task.ClassPublish, task.ClassTerminated, task.ClassReported:
	}
	return "omoi retry " + t.ID
}

// credentialsNext returns the command that sets a missing credential, or that tests a refused one.
func credentialsNext(reason task.Reason) string {
	if reason.Credential != "" {
		return "omoi credentials set " + reason.Credential
	}
	return "omoi credentials test"
}

// setupNext returns the command that changes the setup step. The setup command of a single task cannot be changed.
func setupNext(t task.Task, reason task.Reason) string {
	var own struct {
		Setup *string `json:"setup"`
	}
	_ = json.Unmarshal(t.Execution, &own) // validated when the task was accepted
	switch {
	case reason.Code == task.ReasonSetupTimeout:
		return "omoi project update " + projectOf(t) + " --setup-timeout <time>"
	case own.Setup != nil:
		return "omoi show " + t.ID
	}
	return "omoi project update " + projectOf(t) + ` --setup "<command>"`
}

// projectOf names the project of a task: by its key, which begins the key of the task, or by its ID.
func projectOf(t task.Task) string {
	key, _, _ := strings.Cut(t.Key, "-")
	return cmp.Or(key, t.ProjectID)
}

// OutOfBudget reports whether a task waits for a higher budget, suspended or before its admission.
func OutOfBudget(t task.Task) bool {
	queued := t.QueueReason.Code == task.ReasonTaskBudget || t.QueueReason.Code == task.ReasonProjectBudget
	return t.Status == task.StatusPending && (t.Blocked == task.BlockedBudget || t.Blocked == task.BlockedNone && queued)
}

// RaiseBudget returns the command that raises the spent budget of a task or its project.
func RaiseBudget(t task.Task) string {
	of := t.ID
	if spent(t).Code == task.ReasonProjectBudget {
		of = "--project " + t.ProjectID
	}
	return "omoi budget " + of + " " + spentFlag(t) + " <more>"
}

// spent returns the reason that names the spent budget.
func spent(t task.Task) task.Reason {
	for _, r := range []task.Reason{t.QueueReason, t.EndReason, t.Last().EndReason} {
		if r.Code == task.ReasonTaskBudget || r.Code == task.ReasonProjectBudget {
			return r
		}
	}
	return task.Reason{}
}

// spentFlag returns the flag of the spent limit.
func spentFlag(t task.Task) string {
	switch spent(t).Unit {
	case task.UnitTokens:
		return "--tokens"
	case task.UnitSandboxSeconds:
		return "--sandbox-time"
	case task.UnitWallClock:
		return "--wall-clock"
	}
	return "--usd"
}
