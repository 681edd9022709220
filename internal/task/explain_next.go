package task

import "strings"

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

// failedNext is what to do about a task that has failed.
func failedNext(t Task) string {
	switch t.FailureClass {
	case ClassCredentials:
		return "omoi credentials test"
	case ClassBudget:
		return budgetNext(t)
	case ClassInvalidInput:
		return "omoi show " + t.ID
	case ClassNone, ClassInfrastructure, ClassProviderLimit, ClassAgentError, ClassResources, ClassStopped,
		ClassPublish, ClassTerminated, ClassReported:
	}
	return "omoi retry " + t.ID
}
