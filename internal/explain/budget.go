package explain

import "github.com/omoi-dev/omoi/internal/task"

// OutOfBudget reports whether a task waits until a budget is raised: it is parked for it, or is not let in.
func OutOfBudget(t task.Task) bool {
	queued := t.QueueReason.Code == task.ReasonTaskBudget || t.QueueReason.Code == task.ReasonProjectBudget
	return t.Status == task.StatusPending && (t.Blocked == task.BlockedBudget || t.Blocked == task.BlockedNone && queued)
}

// RaiseBudget is the command that raises the budget, of a task or of its project, for which the task waits.
func RaiseBudget(t task.Task) string {
	of := t.ID
	if spent(t).Code == task.ReasonProjectBudget {
		of = "--project " + t.ProjectID
	}
	return "omoi budget " + of + " " + spentFlag(t) + " <more>"
}

// spent is the condition of the budget that is used up.
func spent(t task.Task) task.Reason {
	for _, r := range []task.Reason{t.QueueReason, t.EndReason, t.Last().EndReason} {
		if r.Code == task.ReasonTaskBudget || r.Code == task.ReasonProjectBudget {
			return r
		}
	}
	return task.Reason{}
}

// spentFlag names the limit that is reached.
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
