package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// TestAgentThatDoesNotStart counts the time for reporting in from the assignment: a task may
// wait for its slot much longer than that.
func TestAgentThatDoesNotStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{
		"OMOI_TASK_STARTUP_TIMEOUT": "5s", "OMOI_TASK_HEARTBEAT_TIMEOUT": "60s", "MAX_CONCURRENT_TASKS_PER_PROJECT": "1",
	}).up()
	repo := r.repo()
	first := r.outside(repo)
	a := r.agentOf(first.ID, 1)
	a.says(newEvent("agent.started"))
	queued := r.outside(repo, retries(1))
	r.eventually("it was queued for longer than an agent has to start", func() bool {
		return r.count(`SELECT count(*) FROM tasks WHERE id = $1 AND status = 'pending' AND created_at < now() - interval '8 seconds'`, queued.ID) == 1
	})
	require.Empty(t, r.task(queued.ID).Attempts)
	a.says(newEvent("agent.completed", `{"success":true}`))

	// the first attempt has its time from the assignment, and nobody reports in
	silent := r.agentOf(queued.ID, 1)
	late := r.agentOf(queued.ID, 2)
	require.NotEqual(t, silent.box, late.box)
	require.Equal(t, 1, r.count(`SELECT count(*) FROM attempts WHERE task_id = $1 AND number = 1
		AND failure_class = 'infrastructure' AND ended_at >= assigned_at + interval '5 seconds'`, queued.ID))
	silent.says(newEvent("agent.started")) // too late: it is not this sandbox's turn any more
	late.completes()
	got := r.ends(queued.ID, task.StatusCompleted)
	require.Equal(t, 2, got.AttemptCount)
	require.Equal(t, 1, got.Retries)
	require.Contains(t, got.Attempts[0].Reason, "did not report its start")
	r.noLeaks()
	r.gapless()
}

// TestAgentThatBeatsWithoutWork holds a hanging agent that heartbeats to the limit of no work,
// and one that is within a tool call to the tool's own.
func TestAgentThatBeatsWithoutWork(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{
		"OMOI_TASK_NO_WORK_TIMEOUT": "3s", "OMOI_TASK_HEARTBEAT_TIMEOUT": "5s", "OMOI_TASK_TOOL_TIMEOUT": "60s",
	}).up()
	repo := r.repo()
	hangs := r.submit(repo, script(`{"bash":{"command":"true"}}`, stepHang), retries(0))
	works := r.submit(repo, script(`{"bash":{"command":"sleep 12","timeout_s":60}}`, stepComplete), retries(0))
	got := r.ends(hangs.ID, task.StatusFailed)
	require.Equal(t, task.ClassAgentError, got.FailureClass)
	require.Contains(t, got.Attempts[0].Reason, "beats and does no work")
	require.Positive(t, r.count(`SELECT count(*) FROM attempts a JOIN sandbox_events e ON e.sandbox_id = a.sandbox_id
		WHERE a.task_id = $1 AND e.event_type = 'agent.heartbeat' AND e.created_at > a.ended_at - interval '5 seconds'`, hangs.ID), "it beat to the end")
	require.Equal(t, 1, r.ends(works.ID, task.StatusCompleted).AttemptCount, "a tool call is work")
	r.noLeaks()
	r.gapless()
}

// TestSilentAgent ends the attempt of an agent outside that stops beating, and not one that beats.
func TestSilentAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "5s", "OMOI_TASK_NO_WORK_TIMEOUT": "60s"}).up()
	repo := r.repo()
	silent, beating := r.outside(repo), r.outside(repo)
	a, b := r.agentOf(silent.ID, 1), r.agentOf(beating.ID, 1)
	a.says(newEvent("agent.started"))
	b.says(newEvent("agent.started"))
	r.eventually("the silent one is replaced", func() bool {
		b.says(newEvent("agent.heartbeat"))
		got := r.task(silent.ID)
		return got.AttemptCount == 2 && got.SandboxID != nil
	})
	require.Equal(t, task.ClassInfrastructure, r.task(silent.ID).Attempts[0].FailureClass)
	r.agentOf(silent.ID, 2).completes()
	b.says(newEvent("agent.completed", `{"success":true}`))
	require.Equal(t, 1, r.ends(beating.ID, task.StatusCompleted).AttemptCount)
	r.ends(silent.ID, task.StatusCompleted)
	r.gapless()
}
