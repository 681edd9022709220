package explain

import (
	"fmt"
	"math"

	"github.com/omoi-dev/omoi/internal/task"
)

// Queue returns why a task waits in the queue, as the end of a sentence that begins with "The task is".
func Queue(r task.Reason) string {
	switch r.Code {
	case "":
		return ""
	case task.ReasonProjectLimit:
		return slots(r, "project")
	case task.ReasonOrganizationLimit:
		return slots(r, "organization")
	case task.ReasonTaskBudget, task.ReasonProjectBudget:
		return "waiting: " + Spent(r)
	case task.ReasonDependency:
		return "waiting for " + counted(r.Tasks, "task") + " that it depends on"
	case task.ReasonCooldown:
		return "waiting until " + until(r) + " for the limit of its credential"
	case task.ReasonLimitReset:
		return "waiting until " + until(r) + ", when that limit resets"
	case task.ReasonLimitUnknown:
		return "waiting until " + until(r) + ", since the provider did not say when that limit resets"
	}
	if text, ok := queueTexts()[r.Code]; ok {
		return text
	}
	return "waiting: " + string(r.Code)
}

// queueTexts are the sentences without numbers.
func queueTexts() map[task.ReasonCode]string {
	return map[task.ReasonCode]string{
		task.ReasonSlot:               "waiting for a slot",
		task.ReasonBudgetReserved:     "waiting: what is left of the budget of its project is reserved for running tasks",
		task.ReasonDependencyFailed:   "waiting: a task that it depends on failed or was cancelled",
		task.ReasonProjectPaused:      "waiting: the project is paused",
		task.ReasonOrganizationPaused: "waiting: the organization is paused",
		task.ReasonAutonomousOff:      "waiting: autonomous execution is off in this project",
		task.ReasonCooldownProbe:      "waiting: another task tries whether the limit of its credential has reset",
		task.ReasonCooldownOver:       "waiting: the limit of its credential has reset, and tasks on it resume one after the other",
	}
}

func slots(r task.Reason, scope string) string {
	if r.Limit == 0 {
		return "waiting: the " + scope + " admits no tasks now (limit 0)"
	}
	return fmt.Sprintf("waiting for a slot: %.0f of %.0f used in this %s", r.Used, r.Limit, scope)
}

// Spent returns which budget is spent, for example "its budget is spent, 7 of 7 tokens".
func Spent(r task.Reason) string {
	if r.Code == task.ReasonProjectBudget {
		return "the budget of its project is spent, " + Amount(r)
	}
	return "its budget is spent, " + Amount(r)
}

// Amount returns how much of a budget is used, for example "7 of 7 tokens".
func Amount(r task.Reason) string {
	switch r.Unit {
	case task.UnitTokens:
		return fmt.Sprintf("%.0f of %.0f tokens", math.Round(r.Used), math.Round(r.Limit))
	case task.UnitSandboxSeconds:
		return fmt.Sprintf("%.0f of %.0f seconds of sandboxes", math.Round(r.Used), math.Round(r.Limit))
	case task.UnitWallClock:
		return fmt.Sprintf("%.0f of %.0f seconds by the clock", math.Round(r.Used), math.Round(r.Limit))
	}
	return fmt.Sprintf("%.2f of %.2f USD", r.Used, r.Limit)
}

func until(r task.Reason) string {
	if r.Until == nil {
		return "later"
	}
	return r.Until.UTC().Format("2006-01-02 15:04:05 UTC")
}
