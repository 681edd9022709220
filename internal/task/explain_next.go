package task

import (
	"encoding/json"
	"strings"
)

// queueNext is what to do about a task that waits for its turn.
func queueNext(t Task) string {
	switch {
	case strings.Contains(t.QueueReason, "autonomous execution is off"):
		return "omoi projects set " + t.ProjectID + " --autonomous"
	case strings.Contains(t.QueueReason, "organization"):
		return "omoi organization"
	case strings.Contains(t.QueueReason, "limit 0"), strings.Contains(t.QueueReason, "in this project"):
		return "omoi projects set " + t.ProjectID + " --limit <n>"
	}
	return "omoi ps"
}

// troubleNext is what to do about a task that has its turn and gets no sandbox.
func troubleNext(reason string) string {
	switch {
	case strings.Contains(reason, "verified gone"):
		return "omoi sandboxes"
	case strings.Contains(reason, "machine"):
		return "omoi hosts"
	}
	return "omoi doctor"
}

// budgetNext names the budget that is spent.
func budgetNext(t Task) string {
	if strings.Contains(t.QueueReason+lastReason(t), "project") {
		return "omoi budget --project " + t.ProjectID
	}
	return "omoi budget " + t.ID
}

// FailureNext is what to type after a task, or its newest attempts, failed in a class for a reason; same: several
// attempts in a row said the same.
func FailureNext(t Task, class FailureClass, reason string, same bool) string {
	if SetupFailed(class, reason) {
		return setupNext(t, reason)
	}
	if EndedByInterrupt(class, reason) {
		return "omoi retry " + t.ID
	}
	switch class {
	case ClassCredentials:
		return "omoi credentials test"
	case ClassBudget:
		return budgetNext(t)
	case ClassInfrastructure:
		return "omoi doctor"
	case ClassInvalidInput, ClassStopped:
		return "omoi show " + t.ID
	case ClassAgentError:
		if same { // another attempt would not help
			return "omoi logs " + t.ID
		}
	case ClassNone, ClassProviderLimit, ClassResources, ClassPublish, ClassTerminated, ClassReported:
	}
	return "omoi retry " + t.ID
}

// SetupStep begins what an agent's program says of a setup step that failed.
const SetupStep = "The setup step"

// SetupFailed reports whether an attempt failed in its setup step, other than for lack of memory or disk.
func SetupFailed(class FailureClass, reason string) bool {
	return (class == ClassInfrastructure || class == ClassInvalidInput) && strings.HasPrefix(reason, SetupStep)
}

// setupNext names the setting. A task that brought a setup step of its own is made anew.
func setupNext(t Task, reason string) string {
	var own struct {
		Setup *string `json:"setup"`
	}
	_ = json.Unmarshal(t.Execution, &own) // checked when the task was accepted
	switch {
	case strings.Contains(reason, "setup_timeout_s"):
		return "omoi projects set " + t.ProjectID + " --setup-timeout <time>"
	case own.Setup != nil:
		return "omoi show " + t.ID
	}
	return "omoi projects set " + t.ProjectID + ` --setup "<command>"`
}
