package task_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestGroupOf_EveryStatusHasAKnownGroup(t *testing.T) {
	t.Parallel()
	for status, want := range map[task.Status]task.Group{
		task.StatusPending: task.GroupWaiting, task.StatusAssigned: task.GroupRunning, task.StatusRunning: task.GroupRunning,
		task.StatusPendingValidation: task.GroupChecking, task.StatusValidating: task.GroupChecking,
		task.StatusNeedsRevision: task.GroupChecking, task.StatusCompleted: task.GroupDone, task.StatusFailed: task.GroupFailed,
		task.StatusCancelled: task.GroupCancelled,
	} {
		require.Equal(t, want, task.GroupOf(status, task.BlockedNone), status)
	}
	needs := []task.BlockedReason{task.BlockedDependencyFailed, task.BlockedBudget, task.BlockedUnknownTooLong, task.BlockedReview, task.BlockedQuestion}
	for _, blocked := range task.BlockedReasons() {
		want := task.GroupWaiting
		if slices.Contains(needs, blocked) {
			want = task.GroupNeedsYou
		}
		require.Equal(t, want, task.GroupOf(task.StatusPending, blocked), blocked)
	}
}
