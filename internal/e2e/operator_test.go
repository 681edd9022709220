package e2e_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// base64JSON is how the program writes the encoding of a payload in plain JSON: "json/plain".
const base64JSON = `"encoding": "anNvbi9wbGFpbg=="`

// TestTemporalCLI reads and steers a running task with the temporal program alone, in plain
// JSON. The commands are those of docs/OPERATIONS.md.
func TestTemporalCLI(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	made := r.outside(r.repo())
	a := r.agentOf(made.ID, 1)
	a.says(newEvent("agent.started"))
	r.running(made.ID)
	r.applied(made.ID, a.box)
	var described result
	has := waitFor(patience, func() bool { // it is set after the row of the task
		described = r.temporalCLI("workflow", "describe", "-w", contract.TaskWorkflowID(made.ID))
		return strings.Contains(described.stdout, "running")
	})
	require.True(t, has, "the workflow has the attribute: %v", described)
	settled := r.start1(made.ID)

	const never, lost = "0190aaaa-0000-7000-8000-000000000000", `{"sandbox_id":"aaaaaaaaaaaaaaaaaaaaaaaaaa","from":1,"to":1,"milestones":[{"sequence":1,"type":"agent.completed","ok":true}]}`
	made1 := `{"sandbox_id":"` + a.box + `","from":1,"to":9999,"milestones":[{"sequence":9999,"type":"agent.completed","ok":true}]}`
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"describe", []string{"describe"}, []string{"TaskWorkflow", "running"}},
		{"describe as JSON", []string{"describe", "-o", "json"}, []string{`"status": "WORKFLOW_EXECUTION_STATUS_RUNNING"`}},
		{"show", []string{"show"}, []string{"WorkflowExecutionStarted", "ActivityTaskCompleted"}},
		{"show in detail", []string{"show", "--detailed"}, []string{"input[0].task_id: " + made.ID, "input[0].sandbox_id: " + a.box, contract.BeginAttempt}},
		{"show as JSON", []string{"show", "-o", "json"}, []string{base64JSON}},
		{"query", []string{"query", "--type", "state"}, []string{`"stage":"running"`, `"status":"running"`, a.box}},
		{"metadata", []string{"metadata"}, []string{"**running** (running)", "state"}},
		{"a digest of another sandbox", []string{"signal", "--name", "sandbox-events", "--input", lost}, nil},
		{"a digest that never was", []string{"signal", "--name", "sandbox-events", "--input", made1}, nil},
		{"no digest", []string{"signal", "--name", "sandbox-events", "--input", `"what is this"`}, nil},
		{"no command", []string{"signal", "--name", "command", "--input", `["cancel"]`}, nil},
		{"an unknown kind", []string{"signal", "--name", "command", "--input", `{"kind":"explode"}`}, nil},
		{"an unknown id", []string{"signal", "--name", "command", "--input", `{"id":"` + never + `","kind":"cancel"}`}, nil},
		{"no id", []string{"signal", "--name", "command", "--input", `{"id":"x'; --","kind":"cancel"}`}, nil},
		{"a command that is settled", []string{"signal", "--name", "command", "--input", `{"id":"` + settled + `","kind":"cancel"}`}, nil},
		{"a retry of a running task", []string{"signal", "--name", "command", "--input", `{"kind":"retry"}`}, nil},
	} {
		res := r.temporalCLI(append([]string{"workflow", c.args[0], "-w", contract.TaskWorkflowID(made.ID)}, c.args[1:]...)...)
		require.Zero(t, res.code, "%s: %s", c.name, res.stderr)
		for _, text := range c.says {
			require.Contains(t, res.stdout, text, c.name)
		}
	}

	// nothing of that has moved the task, and everything that is true still does
	a.says(newEvent("agent.tool_use"))
	r.applied(made.ID, a.box)
	require.EqualValues(t, 2, r.view(made.ID).Seen)
	require.Equal(t, task.StatusRunning, r.task(made.ID).Status)
	require.Equal(t, 1, r.count(`SELECT count(*) FROM commands WHERE task_id = $1 AND sender = 'temporal cli' AND kind = 'retry' AND state = 'refused'`, made.ID))

	require.Zero(t, r.signalCLI(made.ID, contract.SignalCommand, `{"kind":"cancel","reason":"by hand"}`).code)
	got := r.ends(made.ID, task.StatusCancelled)
	require.Equal(t, "Task cancelled: by hand", text(got.ErrorMessage))
	require.Equal(t, 1, got.AttemptCount)
	require.Equal(t, 1, r.count(`SELECT count(*) FROM commands WHERE task_id = $1 AND kind = 'cancel' AND state = 'carried_out'`, made.ID))
	r.noLeaks()
}

// start1 is the id of a task's first command, which is settled.
func (r *rig) start1(taskID string) string {
	r.t.Helper()
	var id string
	require.NoError(r.t, r.pool.QueryRow(context.Background(),
		`SELECT id FROM commands WHERE task_id = $1 AND kind = 'start' AND state = 'carried_out'`, taskID).Scan(&id))
	return id
}

// TestCommandByHand hands over a command by its id, as an operator does whose relay is down,
// and cancels by `temporal workflow cancel`.
func TestCommandByHand(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	repo := r.repo()
	made, other := r.outside(repo), r.outside(repo)
	r.agentOf(made.ID, 1).says(newEvent("agent.started"))
	r.agentOf(other.ID, 1).says(newEvent("agent.started"))
	r.running(made.ID)
	r.running(other.ID)
	id := task.NewID()
	_, err := r.pool.Exec(context.Background(), `INSERT INTO commands (id, task_id, kind, args, sender, sent_at)
		VALUES ($1, $2, 'cancel', '{"reason":"it never arrived"}', 'a test', now())`, id, made.ID)
	require.NoError(t, err)
	// of this task only
	require.Zero(t, r.signalCLI(other.ID, contract.SignalCommand, `{"id":"`+id+`","kind":"cancel"}`).code)
	require.Zero(t, r.signalCLI(made.ID, contract.SignalCommand, `{"id":"`+id+`","kind":"cancel"}`).code)
	got := r.ends(made.ID, task.StatusCancelled)
	require.Equal(t, "Task cancelled: it never arrived", text(got.ErrorMessage))
	require.Equal(t, task.ReceiptCarriedOut, r.command(id).State)

	require.Equal(t, task.StatusRunning, r.task(other.ID).Status)
	require.Zero(t, r.temporalCLI("workflow", "cancel", "-w", contract.TaskWorkflowID(other.ID)).code)
	got = r.ends(other.ID, task.StatusCancelled)
	require.Contains(t, text(got.ErrorMessage), "Task cancelled: ")
	r.closed(other.ID)
	res := r.temporalCLI("workflow", "describe", "-w", contract.TaskWorkflowID(other.ID))
	require.Contains(t, res.stdout, "CANCELED")
	r.noLeaks()
}

// conflict wants an error that says why the task's state does not allow it.
func conflict(t *testing.T, err error, says string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, task.CodeConflict, task.CodeOf(err), "%v", err)
	require.Contains(t, err.Error(), says)
}

func TestRetryAndCancel(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	repo := r.repo()
	made := r.outside(repo, retries(0))
	a := r.agentOf(made.ID, 1)
	a.says(newEvent("agent.started"))
	r.running(made.ID)
	_, _, err := r.api.Retry(ctx, made.ID, "too early")
	conflict(t, err, "The task is running and continues by itself")

	a.says(newEvent("agent.error", `{"error":"it broke"}`))
	failed := r.ends(made.ID, task.StatusFailed)
	_, _, err = r.api.Cancel(ctx, made.ID, "too late")
	conflict(t, err, "The task is failed already")
	_, _, err = r.api.Retry(ctx, made.ID, "again")
	require.NoError(t, err)
	a = r.agentOf(made.ID, 2)
	require.Equal(t, text(failed.Branch), text(r.task(made.ID).Branch))

	// cancelled twice at once, then once more
	a.says(newEvent("agent.started"))
	r.running(made.ID)
	require.Equal(t, 1, r.cancelTwice(made.ID), "two that want the same get the same")
	r.ends(made.ID, task.StatusCancelled)
	_, _, err = r.api.Cancel(ctx, made.ID, "again")
	conflict(t, err, "The task is cancelled already")

	// the retry of one whose history Temporal has dropped
	r.closed(made.ID)
	r.forget(made.ID)
	show := r.omoi("show", made.ID)
	require.Zero(t, show.code, show.stderr)
	require.Contains(t, show.stdout, "cancelled")
	_, _, err = r.api.Retry(ctx, made.ID, "and again")
	require.NoError(t, err)
	a = r.agentOf(made.ID, 3)
	a.completes()
	got := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 3, got.AttemptCount)
	require.Equal(t, text(failed.Branch), text(got.Branch))
	_, _, err = r.api.Retry(ctx, made.ID, "no need")
	conflict(t, err, "The task is completed")
	require.Zero(t, r.count(`SELECT count(*) FROM commands WHERE state = 'accepted'`), "every command has its receipt")
	r.noLeaks()
	r.gapless()
}

// cancelTwice cancels from two sides at once; it answers how many commands that made.
func (r *rig) cancelTwice(taskID string) int {
	r.t.Helper()
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			_, _, err := r.api.Cancel(context.Background(), taskID, "enough")
			if err != nil && task.CodeOf(err) != task.CodeConflict {
				r.t.Errorf("cancel: %v", err)
			}
		})
	}
	group.Wait()
	return r.count(`SELECT count(*) FROM commands WHERE task_id = $1 AND kind = 'cancel'`, taskID)
}

// TestCancelBeforeItBegins cancels a task that waits for its slot, and one that Temporal has
// never heard of.
func TestCancelBeforeItBegins(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, map[string]string{"MAX_CONCURRENT_TASKS_PER_PROJECT": "1", "OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	repo := r.repo()
	first := r.outside(repo)
	a := r.agentOf(first.ID, 1)
	queued := r.outside(repo)
	r.eventually("the second task waits", func() bool { return r.view(queued.ID).Stage == "queued" })
	_, settled, err := r.api.Cancel(ctx, queued.ID, "not needed")
	require.NoError(t, err)
	require.True(t, settled || r.ends(queued.ID, task.StatusCancelled).Status.Final())
	got := r.ends(queued.ID, task.StatusCancelled)
	require.Zero(t, got.AttemptCount)
	require.Nil(t, got.QueuePosition)

	resume := r.freeze("start-dev")
	unheard := r.outside(r.repo())
	_, _, err = r.api.Cancel(ctx, unheard.ID, "never mind")
	require.NoError(t, err)
	resume()
	got = r.ends(unheard.ID, task.StatusCancelled)
	require.Equal(t, "Task cancelled: never mind", text(got.ErrorMessage))
	a.completes()
	r.ends(first.ID, task.StatusCompleted)
	require.Zero(t, r.count(`SELECT count(*) FROM slots`))
	r.noLeaks()

	// both can be retried
	for _, id := range []string{queued.ID, unheard.ID} {
		_, _, err = r.api.Retry(ctx, id, "after all")
		require.NoError(t, err)
		n := r.until(id, "begins", func(t task.Task) bool { return t.SandboxID != nil }).AttemptCount
		r.agentOf(id, n).completes()
		r.ends(id, task.StatusCompleted)
	}
	r.noLeaks()
}

// TestDependencies holds a task back until the one that it depends on has completed.
func TestDependencies(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	repo := r.repo()
	first := r.outside(repo, retries(0))
	second := r.outside(repo, func(in *apiclient.CreateTaskRequest) {
		in.DependsOn = &apiclient.DependsOn{TaskIDs: []string{first.ID}}
	})
	waits := r.until(second.ID, "waits", func(t task.Task) bool { return t.Blocked == task.BlockedDependency })
	require.Equal(t, []any{task.ReasonDependency, 1}, []any{waits.QueueReason.Code, waits.QueueReason.Tasks})
	require.Contains(t, waits.Why, "waiting for "+first.Key+" to complete")
	require.False(t, waits.HoldsSlot)

	r.agentOf(first.ID, 1).says(newEvent("agent.started"), newEvent("agent.error", `{"error":"it broke"}`))
	r.ends(first.ID, task.StatusFailed)
	blocked := r.until(second.ID, "is blocked", func(t task.Task) bool { return t.Blocked == task.BlockedDependencyFailed })
	require.Equal(t, task.StatusPending, blocked.Status)
	require.Contains(t, blocked.Why, "a dependency failed or was cancelled: "+first.Key)

	_, _, err := r.api.Retry(context.Background(), first.ID, "again")
	require.NoError(t, err)
	r.until(second.ID, "waits again", func(t task.Task) bool { return t.Blocked == task.BlockedDependency })
	r.agentOf(first.ID, 2).completes()
	r.ends(first.ID, task.StatusCompleted)
	r.agentOf(second.ID, 1).completes()
	got := r.ends(second.ID, task.StatusCompleted)
	require.Empty(t, got.Blocked)
	require.True(t, got.StartedAt.After(*r.task(first.ID).CompletedAt))
	r.noLeaks()
}

// TestWithoutStickyCache runs a whole task, retry included, with every workflow task replayed
// from its first event.
func TestWithoutStickyCache(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_WORKER_STICKY_CACHE_SIZE": "0"}).up()
	repo := r.repo()
	made := r.submit(repo, script(
		`{"bash":{"command":"echo try >> tries"}}`, `{"commit":"try"}`,
		`{"bash":{"command":"test $(wc -l < tries) -ge 2 || kill -9 $PPID"}}`, stepComplete), retries(1))
	got := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 2, got.AttemptCount)
	r.noLeaks()
	r.gapless()
	r.closed(made.ID)
	shown := r.temporalCLI("workflow", "show", "-w", contract.TaskWorkflowID(made.ID), "-o", "json")
	require.Zero(t, shown.code, shown.stderr)
	require.Contains(t, shown.stdout, "TASK_QUEUE_KIND_NORMAL")
	require.NotContains(t, shown.stdout, "TASK_QUEUE_KIND_STICKY")
}
