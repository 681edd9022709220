package task

import (
	"encoding/json"
	"regexp"
	"strings"
)

// queueNext is what to do about a task that waits for its turn.
func queueNext(t Task) string {
	switch {
	case OutOfBudget(t):
		return RaiseBudget(t)
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
		return credentialsNext(reason)
	case ClassBudget:
		return RaiseBudget(t)
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

// NoCredentials is in the reason of an agent that was given no credential at all.
const NoCredentials = "has no credentials in this sandbox" //nolint:gosec // G101: a sentence

var setsCredential = regexp.MustCompile(`omoi credentials set \w+`)

// credentialsNext sets the one that is not there: a test would find nothing to ask about.
func credentialsNext(reason string) string {
	if named := setsCredential.FindString(reason); named != "" {
		return named
	}
	if strings.Contains(reason, NoCredentials) {
		return "omoi credentials set anthropic"
	}
	return "omoi credentials test"
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
