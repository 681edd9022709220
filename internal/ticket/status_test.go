package ticket_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/ticket"
)

func TestTicketStatus_FollowsItsTasks(t *testing.T) {
	t.Parallel()
	of := func(status task.Status) ticket.Task {
		return ticket.Task{Status: status, Mode: task.ModeImplementation, Started: status != task.StatusPending}
	}
	in := func(mode string, t ticket.Task) ticket.Task { t.Mode = mode; return t }
	retried := ticket.Task{Status: task.StatusPending, Mode: task.ModeImplementation, Started: true}
	for _, c := range []struct {
		want  string
		tasks []ticket.Task
	}{
		{"backlog", nil},
		{"backlog", []ticket.Task{of(task.StatusPending)}},
		{"backlog", []ticket.Task{of(task.StatusCancelled), of(task.StatusPending)}},
		{"building", []ticket.Task{retried}},
		{"building", []ticket.Task{of(task.StatusCancelled), of(task.StatusRunning)}},
		{"building", []ticket.Task{of(task.StatusFailed), of(task.StatusPending)}},
		{"building", []ticket.Task{of(task.StatusNeedsRevision), in(task.ModeExploration, of(task.StatusRunning))}},
		{"analyzing", []ticket.Task{of(task.StatusCompleted), in(task.ModeExploration, of(task.StatusAssigned))}},
		{"testing", []ticket.Task{of(task.StatusCompleted), of(task.StatusValidating)}},
		{"building", []ticket.Task{of(task.StatusCompleted), of(task.StatusPending)}},
		{"building-done", []ticket.Task{of(task.StatusCompleted), in(task.ModeValidation, of(task.StatusPending))}},
		{"done", []ticket.Task{of(task.StatusCompleted), of(task.StatusCancelled)}},
		{"backlog", []ticket.Task{{Status: task.StatusFailed, Mode: task.ModeImplementation}}},
	} {
		require.Equal(t, c.want, ticket.Status(c.tasks), "%+v", c.tasks)
	}
}
