package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestWhatIsSaidOfAClockNamesWhatItRunsFrom(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"the budget of its project is spent, 260 of 1 seconds since it was asked for": "the budget of its project is spent, 260 of 1 seconds since the project was made",
		"its budget is spent, 260 of 1 seconds since it was asked for":                "its budget is spent, 260 of 1 seconds since it was asked for",
		"the budget of its project is spent, 260 of 1 seconds of sandboxes":           "the budget of its project is spent, 260 of 1 seconds of sandboxes",
	} {
		require.Equal(t, want, task.SpentWords(said))
	}
	for _, reason := range []string{"its budget is spent, 2 of 1 seconds since it was asked for", "the budget of its project is spent, 2 of 1 seconds since the project was made"} {
		require.Contains(t, task.RaiseBudget(task.Task{QueueReason: reason}), "--wall-clock")
	}
}
