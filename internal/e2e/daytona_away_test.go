package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// Daytona answers nothing for longer than an agent may be silent, while the worker reads through it
// what the agent says: nothing is known then, and no attempt ends for it.
func TestNoAttemptEndsWhileDaytonaIsAway(t *testing.T) {
	t.Parallel()
	cloud, settings := startCloud(t)
	settings["OMOI_TRANSPORT_DAYTONA"], settings["OMOI_API_CALLBACK_URL"] = "pull", "http://127.0.0.1:1"
	settings["OMOI_TASK_HEARTBEAT_TIMEOUT"], settings["OMOI_TEST_AGENT_HEARTBEAT_INTERVAL"] = "3s", "500ms"
	r := newRig(t, settings).up()
	made := r.submit(r.repo(), script(stepWrite, stepCommit, waitsForMessage, stepComplete), inDaytona)
	box := text(r.running(made.ID).SandboxID)
	away := cloud.Faults().Set(daytonatest.Fault{Switch: daytonatest.BadGateway})
	r.eventually("nobody can say how the agent is", func() bool { return r.task(made.ID).WaitingFor.Code != "" })
	r.kill("worker")
	r.startWorker()
	said, err := r.api.SendMessage(context.Background(), box, apiclient.CreateMessageRequest{Content: "go on", Type: "user_message"}, "")
	require.NoError(t, err)
	require.Equal(t, 1, r.task(made.ID).AttemptCount)
	cloud.Faults().Clear(away)
	got := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 1, got.AttemptCount)
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1
		AND event_type = 'agent.message_injected' AND event_data->>'message_id' = $2`, box, said.MessageID))
	r.noLeaks()
	r.gapless()
	require.Empty(t, cloud.Boxes())
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes WHERE id = $1 AND made_at < started_at AND started_at < deleted_at
		AND deleted_at <= gone_at AND gone_at <= verified_at AND read_at IS NOT NULL AND NOT unsent`, box), "its receipt")
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes`))
}
