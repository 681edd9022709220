package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// pulling are settings of an installation whose local sandboxes know of no API.
func pulling() map[string]string {
	return map[string]string{
		"OMOI_TRANSPORT_LOCAL": "pull", "OMOI_TRANSPORT_PULL_INTERVAL": "200ms",
		"OMOI_API_CALLBACK_URL": "http://127.0.0.1:1", // nothing is pushed to it
	}
}

// TestWorkerKilledWhileItRelays kills the worker again and again while it carries for an agent:
// what was sent is stored, each event once, in order, in one attempt.
func TestWorkerKilledWhileItRelays(t *testing.T) {
	t.Parallel()
	r := newRig(t, pulling()).up()
	const flood, floods, kills = 600, 3, 2
	var steps []string
	for range floods {
		steps = append(steps, sprintf(`{"flood":{"events":%d,"bytes":400}}`, flood))
	}
	made := r.submit(r.repo(), script(append(steps, stepWrite, stepCommit, `{"wait_message":{"timeout_s":600}}`, stepUnsaved, stepComplete)...))
	for n := range kills {
		r.eventually("events come in", func() bool { return r.count(`SELECT coalesce(sum(last_sequence), 0)::int FROM sandboxes`) > n*flood })
		r.kill("worker")
		r.startWorker()
	}
	box := r.running(made.ID).Attempts[0].SandboxID
	said, err := r.api.SendMessage(context.Background(), box, apiclient.CreateMessageRequest{Content: "go on", Type: "user_message"}, "")
	require.NoError(t, err)
	got := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 1, got.AttemptCount)
	r.noLeaks()
	r.gapless()
	require.Equal(t, floods*flood, r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND event_data ? 'flood'`, box))
	require.Zero(t, r.count(`SELECT count(*) FROM (SELECT (event_data->>'flood')::int - lag((event_data->>'flood')::int)
		OVER (ORDER BY sequence) AS step FROM sandbox_events WHERE sandbox_id = $1 AND event_data ? 'flood') steps
		WHERE step NOT IN (1, $2)`, box, 1-flood), "in their order")
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1
		AND event_type = 'agent.message_injected' AND event_data->>'message_id' = $2`, box, said.MessageID))
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND event_type = 'agent.shutdown'`, box))
	r.eventually("the pull relay has ended", func() bool {
		d, err := r.temporal.DescribeWorkflowExecution(context.Background(), contract.PullRelayWorkflowID(box), "")
		return err == nil && d.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
}

// TestPullOutlivesItsSetting changes the transport under an agent that is read from.
func TestPullOutlivesItsSetting(t *testing.T) {
	t.Parallel()
	r := newRig(t, pulling()).up()
	made := r.submit(r.repo(), script(`{"wait_message":{"timeout_s":600}}`, stepWrite, stepCommit, stepComplete))
	box := text(r.running(made.ID).SandboxID)
	r.kill("worker")
	r.env["OMOI_TRANSPORT_LOCAL"] = "push"
	r.startWorker()
	_, err := r.api.SendMessage(context.Background(), box, apiclient.CreateMessageRequest{Content: "go on", Type: "user_message"}, "")
	require.NoError(t, err)
	require.Equal(t, 1, r.ends(made.ID, task.StatusCompleted).AttemptCount)
	r.noLeaks()
	r.gapless()
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND event_type = 'agent.shutdown'`, box), "read to the end")
}

// pulled runs a task whose agent is spoken to, in a sandbox that knows of no API.
func (r *rig) pulled(in func(*apiclient.CreateTaskRequest)) task.Task {
	r.t.Helper()
	made := r.submit(r.repo(), script(stepWrite, stepCommit, `{"wait_message":{"timeout_s":600}}`, `{"complete":{"output":"heard {{message}}","success":true}}`), in)
	box := text(r.running(made.ID).SandboxID)
	_, err := r.api.SendMessage(context.Background(), box, apiclient.CreateMessageRequest{Content: "go on", Type: "user_message"}, "")
	require.NoError(r.t, err)
	got := r.ends(made.ID, task.StatusCompleted)
	require.Contains(r.t, string(got.Result), "heard go on")
	require.Equal(r.t, 1, got.AttemptCount)
	r.noLeaks()
	r.gapless()
	require.Equal(r.t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.shutdown'`), "read to the end")
	return got
}

func TestPullFromACloud(t *testing.T) {
	t.Parallel()
	cloud, settings := startCloud(t)
	settings["OMOI_TRANSPORT_DAYTONA"], settings["OMOI_API_CALLBACK_URL"] = "pull", "http://127.0.0.1:1"
	newRig(t, settings).up().pulled(inDaytona)
	require.Empty(t, cloud.Boxes())
}

func TestPullFromAContainer(t *testing.T) {
	t.Parallel()
	r, engine := newDockerRig(t)
	r.kill("worker")
	r.env["OMOI_TRANSPORT_DOCKER"], r.env["OMOI_API_CALLBACK_URL"] = "pull", "http://127.0.0.1:1"
	r.startWorker()
	r.pulled(inDocker)
	r.engineIsEmpty(engine)
}
