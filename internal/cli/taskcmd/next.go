package taskcmd

import (
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// nextCommands are what a person may want to type now, each with the reason.
func nextCommands(t client.Task) [][2]string {
	id := render.Short(t.ID)
	var next [][2]string
	switch t.Status {
	case task.StatusCompleted:
	case task.StatusFailed, task.StatusCancelled:
		next = append(next, [2]string{"omoi retry " + id, "begin again"}, [2]string{"omoi logs " + id, "what happened"})
	case task.StatusPending, task.StatusAssigned, task.StatusRunning, task.StatusPendingValidation,
		task.StatusValidating, task.StatusNeedsRevision:
		if parked(t) {
			next = append(next, [2]string{"omoi retry " + id, "go on"})
		}
		next = append(next, [2]string{"omoi logs -f " + id, "watch it"}, [2]string{"omoi cancel " + id, "stop it; what it did is saved, omoi show says where"})
	}
	if t.Branch != nil && t.AttemptCount > 0 {
		next = append(next, [2]string{"omoi diff " + id, "what it changed"}, [2]string{"omoi checkout " + id, "get the branch"})
	}
	return next
}

// next prints them to standard error, or below a result.
func (s *session) next(t client.Task) {
	commands := nextCommands(t)
	if len(commands) > 0 {
		s.hint("Next:")
	}
	for _, n := range commands {
		s.hint("  %-24s %s", n[0], s.style().Dim(n[1]))
	}
}
