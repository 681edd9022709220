package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestDefaultReason_IsASentence(t *testing.T) {
	t.Parallel()
	kinds := []task.FactKind{
		task.FactStarted, task.FactCompleted, task.FactContinuousCompleted, task.FactAgentFailed, task.FactObserved, task.FactTooLong,
		task.FactValidatorLimit, task.FactStepFailed, task.FactPublished, task.FactPublishFailed, task.FactHandedIn, task.FactCancel,
		task.FactFail, task.FactComplete, task.FactVerdict, task.FactRetry, task.FactReplace, task.FactPause, task.FactBudget,
	}
	for _, kind := range kinds {
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
