package e2e_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// A workflow is reset while its provider does not let go of a sandbox: the run that goes on begins no attempt beside it, wherever it
// goes on.
func TestResetDuringTheHandover(t *testing.T) {
	t.Parallel()
	cloud, settings := startCloud(t)
	settings["OMOI_TASK_CLEANUP_TIMEOUT"], settings["OMOI_REAPER_GRACE_PERIOD"] = "1h", "1h"
	r := newRig(t, patient(settings)).up()
	forms := resets()
	forms["in mid-run"] = []string{"-t", "LastWorkflowTask"}
	ids, repo := map[string]string{}, r.repo()
	for how := range forms {
		ids[how] = r.submit(repo, script(stepWrite, stepCommit, waitsForMessage, stepComplete), inDaytona).ID
	}
	for _, id := range ids {
		r.running(id)
	}
	clings := cloud.Faults().Set(daytonatest.Fault{Switch: daytonatest.BadGateway, Method: http.MethodDelete, Path: "/api/sandbox/*"})
	for how, id := range ids {
		require.Zero(t, r.signalCLI(id, contract.SignalCommand, `{"kind":"replace","reason":"another one"}`).code)
		r.eventually("the sandbox is handed over", func() bool {
			return r.count(`SELECT count(*) FROM sandboxes WHERE task_id = $1 AND state = 'deleting'`, id) == 1
		})
		r.reset(id, "", forms[how]...)
	}
	for how, id := range ids {
		r.eventually(how+": the new run waits", func() bool { return waitsForDeletion(r.view(id)) })
		require.Equal(t, 1, r.task(id).AttemptCount, how)
	}
	require.Len(t, cloud.Boxes(), len(ids), "each task has its one sandbox")

	cloud.Faults().Clear(clings)
	for how, id := range ids {
		second := r.until(id, how+": runs again", func(t task.Task) bool { return t.AttemptCount == 2 && t.Status == task.StatusRunning })
		_, err := r.api.SendMessage(context.Background(), text(second.SandboxID), apiclient.CreateMessageRequest{Content: "go on", Type: "user_message"}, "")
		require.NoError(t, err)
		r.ends(id, task.StatusCompleted)
		r.closed(id)
		r.eventually(how+": both sandboxes are verified deleted", func() bool {
			return r.count(`SELECT count(*) FROM sandboxes WHERE task_id = $1 AND verified_at IS NULL`, id) == 0
		})
	}
	r.noLeaks()
	r.gapless()
	require.Empty(t, cloud.Boxes())
	require.Zero(t, r.count(`SELECT count(*) FROM sandboxes a JOIN sandboxes b ON b.task_id = a.task_id AND b.created_at > a.created_at
		WHERE a.gone_at > b.created_at`), "a sandbox was made beside a living one")
	require.Zero(t, r.count(`SELECT count(*) FROM sandbox_events e JOIN sandboxes a ON a.id = e.sandbox_id
		JOIN sandboxes b ON b.task_id = a.task_id AND b.created_at > a.created_at WHERE e.created_at > b.created_at`), "an agent acted beside another")
}

// waitsForDeletion reports whether a run waits for a sandbox: for its cleanup, or because the ledger says that it exists.
func waitsForDeletion(v contract.TaskView) bool {
	return v.Stage == "retrying" || v.Stage == "starting" && v.Detail == "waiting: earlier_sandbox"
}
