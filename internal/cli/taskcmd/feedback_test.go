package taskcmd_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/task"
)

// show lists feedback from GitHub with its state.
func TestShow_ListsFeedback(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	done := aTask(idA, task.StatusCompleted)
	url := "https://github.com/acme/app/pull/7"
	done.PullURL = &url
	f.tasks = []client.Task{done}
	require.NotContains(t, f.omoi("show", "-").out, "FEEDBACK")
	item := func(state, reason, id string) feedback.Item {
		return feedback.Item{Note: "Review by alice\x1b[1m", State: state, Reason: reason, TaskID: id, At: time.Now()}
	}
	f.feedback = feedback.TaskFeedback{RootID: idB, Follows: idB, PullState: feedback.PullMerged, Items: []feedback.Item{
		item(feedback.StateTaskCreated, "", idA), item(feedback.StateAcknowledged, "", idC), item(feedback.StateSent, "", idA),
		item(feedback.StatePending, "the task has failed", ""), item(feedback.StateIgnored, "the pull request is closed", ""),
	}}
	got := f.omoi("show", "-").out
	for _, want := range []string{
		"Follow-up of  task " + idB, "pull request merged", "started this task", "acknowledged by the agent of task " + idC,
		"sent to the agent of this task", "waiting: the task has failed", "ignored: the pull request is closed",
	} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, got, "alice\x1b[1m")
	var shown map[string]any
	requireJSON(t, f.omoi("show", "-", "--json").out, &shown)
	require.Contains(t, shown, "feedback")
	for range 20 {
		f.feedback.Items = append(f.feedback.Items, item(feedback.StateAcknowledged, "", idA))
	}
	require.Contains(t, f.omoi("show", "-").out, "the newest 10 of 25")
}
