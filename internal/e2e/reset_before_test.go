package e2e_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// before is the event of a task's history at which `temporal workflow reset` has to begin so that this activity is not yet asked for.
func (r *rig) before(taskID, activity string) string {
	r.t.Helper()
	events := r.temporal.GetWorkflowHistory(context.Background(), contract.TaskWorkflowID(taskID), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(r.t, err)
		if activityOf(event) == activity {
			end := max(event.GetActivityTaskScheduledEventAttributes().GetWorkflowTaskCompletedEventId(),
				event.GetMarkerRecordedEventAttributes().GetWorkflowTaskCompletedEventId())
			return strconv.FormatInt(end, 10)
		}
	}
	require.FailNow(r.t, "the task's history has no "+activity)
	return ""
}

// A task is reset while its agent works. A run that starts from the beginning loads the task and resumes its attempt. A run that
// starts after that, where the task had no attempt, ends the attempt, and its sandbox is deleted before another agent starts.
// A cancel finds both.
func TestResetToBeforeTheLivingAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t, patient(map[string]string{"OMOI_REAPER_GRACE_PERIOD": "1h", "OMOI_TASK_CLEANUP_TIMEOUT": "1h"})).up()
	points := map[string]int{contract.EnsureBranch: 1, contract.BeginAttempt: 2} // and how many attempts the task has then
	ids, cancelled, repo := map[string]string{}, map[string]string{}, r.repo()
	for point := range points {
		ids[point] = r.submit(repo, script(stepWrite, stepCommit, waitsForMessage, stepComplete)).ID
		cancelled[point] = r.submit(repo, script(waitsForMessage, stepComplete)).ID
	}
	for point := range points {
		for _, id := range []string{ids[point], cancelled[point]} {
			r.running(id)
			r.reset(id, "", "-e", r.before(id, point), "--reapply-exclude", "All")
		}
		_, _, err := r.api.Cancel(context.Background(), cancelled[point], "after the reset")
		require.NoError(t, err)
	}
	for point, id := range ids {
		working := r.until(id, point+": runs again", func(t task.Task) bool {
			return t.AttemptCount == points[point] && t.Status == task.StatusRunning
		})
		if len(working.Attempts) > 1 {
			require.Contains(t, working.Attempts[0].Reason, "was reset to a point before this attempt")
		}
		_, err := r.api.SendMessage(context.Background(), text(working.SandboxID), apiclient.CreateMessageRequest{Content: "go on", Type: "user_message"}, "")
		require.NoError(t, err)
		require.Equal(t, points[point], r.ends(id, task.StatusCompleted).AttemptCount, point)
		r.ends(cancelled[point], task.StatusCancelled)
	}
	r.noLeaks()
	r.gapless()
	require.Zero(t, r.count(`SELECT count(*) FROM attempts WHERE ended_at IS NULL`))
	require.Zero(t, r.count(`SELECT count(*) FROM sandboxes a JOIN sandboxes b ON b.task_id = a.task_id AND b.created_at > a.created_at
		WHERE a.gone_at > b.created_at`), "a sandbox was made beside a living one")
}
