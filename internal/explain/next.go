package explain

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// queueNext is what to do about a task that waits for its turn.
func queueNext(t task.Task) string {
	switch {
	case OutOfBudget(t):
		return RaiseBudget(t)
	case t.QueueReason.Code == task.ReasonAutonomousOff:
		return "omoi project update " + t.ProjectID + " --autonomous-execution"
	case t.QueueReason.Code == task.ReasonOrganizationLimit, t.QueueReason.Code == task.ReasonOrganizationPaused:
		return "omoi organization list"
	case t.QueueReason.Code == task.ReasonProjectLimit:
		return "omoi project update " + t.ProjectID + " --max-concurrent-tasks <n>"
	}
	return "omoi ps"
}

// troubleNext is what to do about a task that has its turn and gets no sandbox.
func troubleNext(r task.Reason) string {
	if r.Code == task.ReasonEarlierSandbox || r.Code == task.ReasonUnverifiedLimit {
		return "omoi sandbox list"
	}
	if r.Code == task.ReasonNoHost || r.Code == task.ReasonHostsFull {
		return "omoi host list"
	}
	return "omoi doctor"
}

// budgetNext names the budget that is spent.
func budgetNext(t task.Task) string {
	if t.QueueReason.Code == task.ReasonProjectBudget || strings.Contains(lastReason(t), "project") {
		return "omoi budget --project " + t.ProjectID
	}
	return "omoi budget " + t.ID
}

// FailureNext is what to type after a task, or its newest attempts, failed in a class for a reason; same: several
// attempts in a row said the same.
func FailureNext(t task.Task, class task.FailureClass, reason string, same bool) string {
	if task.SetupFailed(class, reason) {
		return setupNext(t, reason)
	}
	if task.EndedByInterrupt(class, reason) {
		return "omoi retry " + t.ID
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

var setsCredential = regexp.MustCompile(`omoi credentials set \w+`)

// credentialsNext sets the one that is not there: a test would find nothing to ask about.
func credentialsNext(reason string) string {
	if named := setsCredential.FindString(reason); named != "" {
		return named
	}
	if strings.Contains(reason, task.NoCredentials) {
		return "omoi credentials set anthropic"
	}
	return "omoi credentials test"
}

// setupNext names the setting. A task that brought a setup step of its own is made anew.
func setupNext(t task.Task, reason string) string {
	var own struct {
		Setup *string `json:"setup"`
	}
	_ = json.Unmarshal(t.Execution, &own) // checked when the task was accepted
	switch {
	case strings.Contains(reason, "setup_timeout_s"):
		return "omoi project update " + t.ProjectID + " --setup-timeout <time>"
	case own.Setup != nil:
		return "omoi show " + t.ID
	}
	return "omoi project update " + t.ProjectID + ` --setup "<command>"`
}
