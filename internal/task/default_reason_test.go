package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestDefaultReason_IsASentence(t *testing.T) {
	t.Parallel()
	for _, kind := range factKinds(t) {
		for _, success := range []bool{false, true} {
			reason := task.Fact{Kind: kind, OK: success}.DefaultReason()
			require.Contains(t, reason, " ", "%s %t", kind, success)
		}
	}
	require.Equal(t, "The sandbox reported a failure without a reason.", task.Fact{Kind: task.FactComplete}.DefaultReason())
	require.Equal(t, "Task failed by request, without a reason.", task.Fact{Kind: task.FactFail}.DefaultReason())
	require.Equal(t, "no reason was given.", task.Fact{Kind: task.FactCancel}.DefaultReason())
	require.Empty(t, task.Fact{}.DefaultReason())
}
