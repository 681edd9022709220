package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestTicketStatus_FollowsItsTasks(t *testing.T) {
	t.Parallel()
	of := func(status task.Status) task.TicketTask {
		return task.TicketTask{Status: status, Mode: task.ModeImplementation, Started: status != task.StatusPending}
	}
	in := func(mode string, t task.TicketTask) task.TicketTask { t.Mode = mode; return t }
	retried := task.TicketTask{Status: task.StatusPending, Mode: task.ModeImplementation, Started: true}
	for _, c := range []struct {
		want  string
		tasks []task.TicketTask
	}{
		{"backlog", nil},
		{"backlog", []task.TicketTask{of(task.StatusPending)}},
		{"backlog", []task.TicketTask{of(task.StatusCancelled), of(task.StatusPending)}},
		{"building", []task.TicketTask{retried}},
		{"building", []task.TicketTask{of(task.StatusCancelled), of(task.StatusRunning)}},
		{"building", []task.TicketTask{of(task.StatusFailed), of(task.StatusPending)}},
		{"building", []task.TicketTask{of(task.StatusNeedsRevision), in(task.ModeExploration, of(task.StatusRunning))}},
		{"analyzing", []task.TicketTask{of(task.StatusCompleted), in(task.ModeExploration, of(task.StatusAssigned))}},
		{"testing", []task.TicketTask{of(task.StatusCompleted), of(task.StatusValidating)}},
		{"building", []task.TicketTask{of(task.StatusCompleted), of(task.StatusPending)}},
		{"building-done", []task.TicketTask{of(task.StatusCompleted), in(task.ModeValidation, of(task.StatusPending))}},
		{"done", []task.TicketTask{of(task.StatusCompleted), of(task.StatusCancelled)}},
		{"backlog", []task.TicketTask{{Status: task.StatusFailed, Mode: task.ModeImplementation}}},
	} {
		require.Equal(t, c.want, task.TicketStatus(c.tasks), "%+v", c.tasks)
	}
}
