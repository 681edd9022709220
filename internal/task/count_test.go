package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestCount(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"0 tasks", "1 task", "2 tasks", "1 sandbox", "2 sandboxes"}, []string{
		task.Count(0, "task"), task.Count(1, "task"), task.Count(int64(2), "task"), task.Count(1, "sandbox"), task.Count(2, "sandbox"),
	})
}
