package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestTheClockIsRaisedByItsOwnFlag(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"its budget is spent, 2 of 1 seconds since it was asked for", "the budget of its project is spent, 2 of 1 seconds by the clock"} {
		require.Contains(t, task.RaiseBudget(task.Task{QueueReason: reason}), "--wall-clock")
	}
}
