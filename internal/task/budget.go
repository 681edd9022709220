package task

import (
	"cmp"
	"strings"
)

// Use is what a task or a project has used so far.
type Use struct {
	Tokens         float64  `json:"tokens"`
	USD            *float64 `json:"usd"`          // cost of models as far as it is known; null: unknown. An unknown part does not count against the budget
	CostUnknown    bool     `json:"cost_unknown"` // models without a known price were used
	WallClockS     float64  `json:"wall_clock_s"`
	SandboxSeconds float64  `json:"sandbox_s"`
}

// Spending is a budget with what was used of it.
type Spending struct {
	Budget Budget `json:"budget"`
	Used   Use    `json:"used"`
	// TaskIDs are the tasks that were parked for it and were asked to go on, as it was raised.
	TaskIDs []string `json:"task_ids" nullable:"false"`
}

// OutOfBudget reports whether a task waits until a budget is raised: it is parked for it, or is not let in.
func OutOfBudget(t Task) bool {
	queued := strings.Contains(t.QueueReason, "budget") && strings.Contains(t.QueueReason, "is spent")
	return t.Status == StatusPending && (t.Blocked == BlockedBudget || t.Blocked == BlockedNone && queued)
}

// RaiseBudget is the command that raises the budget, of a task or of its project, for which the task waits.
func RaiseBudget(t Task) string { return budgetNext(t) + " " + spentFlag(t) + " <more>" }

// spentFlag names the limit that is reached, by what the reason counts.
func spentFlag(t Task) string {
	switch reason := cmp.Or(t.QueueReason, lastReason(t)); {
	case strings.HasSuffix(reason, " tokens"):
		return "--tokens"
	case strings.HasSuffix(reason, " seconds of sandboxes"):
		return "--sandbox-time"
	case strings.HasSuffix(reason, " seconds by the clock"), strings.HasSuffix(reason, " seconds since it was asked for"): // as older rows say it
		return "--wall-clock"
	}
	return "--usd"
}
