package task_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestIDs(t *testing.T) {
	t.Parallel()
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	box := regexp.MustCompile(`^[a-z2-7]{26}$`)
	seen := make(map[string]bool)
	for range 10_000 { // many of them in the same millisecond
		id, sandbox := task.NewID(), task.NewSandboxID()
		require.Regexp(t, uuid, id)
		require.Regexp(t, box, sandbox)
		require.False(t, seen[id] || seen[sandbox])
		seen[id], seen[sandbox] = true, true
	}
	require.Equal(t, "omoi-abc", task.SandboxName("abc"))
}

func TestErrors(t *testing.T) {
	t.Parallel()
	cause := task.Errorf(task.CodeNotFound, "no such task")
	err := task.Errorf(task.CodeConflict, "task %s is running", "x").WithCause(cause)
	require.Equal(t, task.CodeConflict, task.CodeOf(err))
	require.Equal(t, "task x is running", task.MessageOf(err))
	require.ErrorIs(t, err, cause)
	bare := errors.New("password=hunter2")
	require.Equal(t, task.CodeInternal, task.CodeOf(bare))
	require.NotContains(t, task.MessageOf(bare), bare.Error())
	require.Equal(t, "title", task.Invalid("title", "is empty").Field)
}

func TestRetryDelay(t *testing.T) {
	t.Parallel()
	require.Zero(t, task.RetryDelay(task.ClassAgentError, 3, 5))
	require.EqualValues(t, 5, task.RetryDelay(task.ClassInfrastructure, 1, 5))
	require.EqualValues(t, 20, task.RetryDelay(task.ClassInfrastructure, 3, 5))
	require.EqualValues(t, 160, task.RetryDelay(task.ClassInfrastructure, 99, 5))
}
