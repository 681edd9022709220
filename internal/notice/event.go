package notice

import (
	"slices"

	"github.com/omoi-dev/omoi/internal/task"
)

// Events of which a rule may notify.
const (
	Started      = "started"   // the first attempt of a task runs
	NeedsYou     = "needs_you" // only a user lets the task continue, or its agent waits for a message
	Done         = "done"
	Failed       = "failed"
	BudgetNear   = "budget_near"   // four fifths of a budget are used
	LimitReached = "limit_reached" // a task waits for its budget, or for the end of a rate limit
	Alert        = "alert"         // the installation needs its operator

	diagnosed = "diagnosis"
	tested    = "test"
)

// Events lists every event of which a rule may notify.
func Events() []string {
	return []string{Started, NeedsYou, Done, Failed, BudgetNear, LimitReached, Alert}
}

// defaultEvents are the events of a rule that names none.
func defaultEvents() []string { return []string{NeedsYou, Done, Failed} }

// checkEvents returns the events without duplicates, in the order of Events.
func checkEvents(names []string) ([]string, error) {
	for _, name := range names {
		if !slices.Contains(Events(), name) {
			return nil, task.Invalid("events", "Invalid event %q: expected one of %v.", name, Events())
		}
	}
	return slices.DeleteFunc(Events(), func(event string) bool { return !slices.Contains(names, event) }), nil
}
