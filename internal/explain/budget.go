package explain

import (
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// OutOfBudget reports whether a task waits until a budget is raised: it is parked for it, or is not let in.
func OutOfBudget(t task.Task) bool {
	queued := t.QueueReason.Code == task.ReasonTaskBudget || t.QueueReason.Code == task.ReasonProjectBudget
	return t.Status == task.StatusPending && (t.Blocked == task.BlockedBudget || t.Blocked == task.BlockedNone && queued)
}

// RaiseBudget is the command that raises the budget, of a task or of its project, for which the task waits.
func RaiseBudget(t task.Task) string { return budgetNext(t) + " " + spentFlag(t) + " <more>" }

// spentFlag names the limit that is reached.
func spentFlag(t task.Task) string {
	unit := t.QueueReason.Unit
	if unit == "" {
		unit = unitIn(lastReason(t))
	}
	switch unit {
	case task.UnitTokens:
		return "--tokens"
	case task.UnitSandboxSeconds:
		return "--sandbox-time"
	case task.UnitWallClock:
		return "--wall-clock"
	}
	return "--usd"
}

// unitIn finds the unit in the reason of an attempt that a budget ended.
func unitIn(reason string) string {
	switch {
	case strings.HasSuffix(reason, " tokens"):
		return task.UnitTokens
	case strings.HasSuffix(reason, " seconds of sandboxes"):
		return task.UnitSandboxSeconds
	case strings.HasSuffix(reason, " seconds by the clock"):
		return task.UnitWallClock
	}
	return task.UnitUSD
}
