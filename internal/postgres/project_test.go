package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

func TestSaveTaskState_LifeOfTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.load(a)
	live := w.begin(a, 1)
	require.Empty(t, w.row(a.id, "sandbox_id"), "before the assignment")
	relayed := `SELECT coalesce(sandbox_id, '') FROM task_outbox WHERE task_id = $1`
	require.Equal(t, live.SandboxID, one[string](t, w.pool, relayed, a.id), "agent.started may come before the assignment")

	w.write(a, contract.Projection{Ordinal: 2, Status: task.StatusPending, Branch: "feature/x", Base: "c0ffee"})
	require.Equal(t, live.SandboxID, one[string](t, w.pool, relayed, a.id))
	w.write(a, contract.Projection{Ordinal: 3, Status: task.StatusAssigned, SandboxID: live.SandboxID})
	require.Equal(t, live.SandboxID, w.row(a.id, "sandbox_id"))
	require.NotEmpty(t, w.row(a.id, "assigned_at"))
	require.Empty(t, w.row(a.id, "started_at"))
	require.True(t, one[bool](t, w.pool, `SELECT assigned_at IS NOT NULL FROM attempts`))
	w.write(a, contract.Projection{Ordinal: 4, Status: task.StatusRunning, SandboxID: live.SandboxID, Retries: 1, Revisions: 2})
	require.NotEmpty(t, w.row(a.id, "started_at"))
	require.Equal(t, "1", w.row(a.id, "retry_count"))
	require.Equal(t, "2", w.row(a.id, "revision_count"))
	require.Equal(t, "feature/x", w.row(a.id, "branch_name"), "what is not said stays")
	w.finish(a, live, 5, task.StatusCompleted)
	require.NotEmpty(t, w.row(a.id, "completed_at"))
	require.Equal(t, live.SandboxID, w.row(a.id, "sandbox_id"), "it names its last sandbox")
	require.Empty(t, one[string](t, w.pool, relayed, a.id))
	require.True(t, one[bool](t, w.pool, `SELECT a.ended_at IS NOT NULL AND s.ended_at = a.ended_at AND a.outcome = 'completed'
		FROM attempts a JOIN sandboxes s ON s.id = a.sandbox_id`))
}

func TestSaveTaskState_StaleProjection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a) // wrote ordinals 2 and 3
	command := w.command(a.id, contract.CommandCancel, `{}`)
	before := w.everything()
	for ordinal := range int64(3) {
		answer, err := w.writeAs(a, contract.Projection{
			Ordinal: ordinal, Status: task.StatusFailed, ReleaseSlot: true, Class: task.ClassAgentError,
			Ended:  &contract.AttemptEnd{Number: live.Number, Outcome: "failed"},
			Settle: []contract.Settlement{{CommandID: command, Receipt: task.ReceiptCarriedOut}},
		}, a.run, true)
		require.NoError(t, err)
		require.True(t, answer.Fenced)
	}
	require.Equal(t, before, w.everything())
}

func TestSaveTaskState_RepeatedProjection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	p := contract.Projection{Ordinal: 3, Status: task.StatusRunning, SandboxID: live.SandboxID}
	before := w.everything()
	require.True(t, w.write(a, p).HoldsSlot)
	require.Equal(t, before, w.everything())
}

func TestSaveTaskState_FencesOtherRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	before := w.everything()
	p := contract.Projection{Ordinal: 9, Status: task.StatusRunning, SandboxID: live.SandboxID}
	answer, err := w.writeAs(a, p, "continued", false)
	require.NoError(t, err)
	require.True(t, answer.Fenced)
	require.Equal(t, before, w.everything())

	answer, err = w.writeAs(a, p, "continued", true)
	require.NoError(t, err)
	require.False(t, answer.Fenced)
	require.Equal(t, "continued", w.row(a.id, "run_id"))

	answer, err = w.writeAs(a, contract.Projection{Ordinal: 10, Status: task.StatusFailed}, a.run, false)
	require.NoError(t, err)
	require.True(t, answer.Fenced, "the run before it has no say any more")
}

func TestSaveTaskState_AsksTemporalOutsideTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.running(a)
	p := contract.Projection{TaskID: a.id, FirstRunID: a.run, Ordinal: 9, Status: task.StatusRunning}
	_, err := w.store.SaveTaskState(t.Context(), p, "continued", func(ctx context.Context) (bool, error) {
		_, err := w.pool.Exec(ctx, `UPDATE tasks SET title = 'not locked' WHERE id = $1`, a.id)
		return true, err
	})
	require.NoError(t, err)
	unreachable := errors.New("unreachable")
	p.Ordinal = 10
	_, err = w.store.SaveTaskState(t.Context(), p, "another", func(context.Context) (bool, error) { return false, unreachable })
	require.ErrorIs(t, err, unreachable, "not knowing is not being fenced")
}

func TestSaveTaskState_IllegalChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	_, err := w.writeAs(a, contract.Projection{Ordinal: 4, Status: task.StatusAssigned, SandboxID: live.SandboxID}, a.run, true)
	require.Equal(t, task.CodeConflict, task.CodeOf(err))
	w.finish(a, live, 5, task.StatusCompleted)
	for _, run := range []string{a.run, "another"} {
		_, err = w.writeAs(a, contract.Projection{Ordinal: 6, Status: task.StatusFailed}, run, true)
		require.Equal(t, task.CodeConflict, task.CodeOf(err), "nothing follows completed, whoever asks")
	}
}

func TestSaveTaskState_ErrorMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(20)
	long, err := w.store.SaveText(t.Context(), "", "error", "the whole story")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		p    contract.Projection
		want string
	}{
		"cancelled by a person":   {contract.Projection{Status: task.StatusCancelled, Reason: "no need"}, "Task cancelled: no need"},
		"failed with a reason":    {contract.Projection{Status: task.StatusFailed, Class: task.ClassReported, Reason: "I say so"}, "I say so"},
		"failed with a text":      {contract.Projection{Status: task.StatusFailed, Class: task.ClassAgentError, Reason: "short", ErrorID: long}, "the whole story"},
		"failed without a word":   {contract.Projection{Status: task.StatusFailed, Class: task.ClassResources}, "The task failed (resources)."},
		"failed without a class":  {contract.Projection{Status: task.StatusFailed}, "The task failed."},
		"a text that is not kept": {contract.Projection{Status: task.StatusFailed, Reason: "short", ErrorID: task.NewID()}, "short"},
		"not over yet":            {contract.Projection{Status: task.StatusPending, Class: task.ClassInfrastructure, Reason: "died"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := w.task(p, "")
			w.load(a)
			c.p.Ordinal, c.p.ReleaseSlot = 1, true
			w.write(a, c.p)
			require.Equal(t, c.want, w.row(a.id, "error_message"))
			require.Equal(t, string(c.p.Class), w.row(a.id, "failure_class"))
		})
	}
}

// The end reason stays while the task stays ended, and is cleared with a retry.
func TestSaveTaskState_KeepsEndReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(1), "")
	live, spent := w.running(a), task.Reason{Code: task.ReasonTaskBudget, Used: 3, Limit: 2, Unit: task.UnitUSD}
	reasons := func() [2]task.Reason {
		found, err := w.store.Task(t.Context(), w.org, a.id)
		require.NoError(t, err)
		return [2]task.Reason{found.EndReason, found.Last().EndReason}
	}
	parked := contract.Projection{Ordinal: 4, Status: task.StatusPending, Blocked: task.BlockedBudget, ReleaseSlot: true, EndReason: spent}
	parked.Ended = &contract.AttemptEnd{Number: live.Number, Outcome: "suspended", Class: task.ClassBudget, EndReason: spent}
	w.write(a, parked)
	require.Equal(t, [2]task.Reason{spent, spent}, reasons())
	w.write(a, contract.Projection{Ordinal: 5, Status: task.StatusPending, Blocked: task.BlockedBudget})
	require.Equal(t, [2]task.Reason{spent, spent}, reasons(), "nothing has ended since")
	w.write(a, contract.Projection{Ordinal: 6, Status: task.StatusPending, RequestSlot: true})
	require.Equal(t, [2]task.Reason{{}, spent}, reasons(), "it goes on")
	w.write(a, contract.Projection{Ordinal: 7, Status: task.StatusFailed, Class: task.ClassCredentials, EndReason: task.NoCredential("github")})
	require.Equal(t, [2]task.Reason{task.NoCredential("github"), spent}, reasons())
}

func TestSaveTaskState_SettlesCommandsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(5)
	a, other := w.task(p, ""), w.task(p, "")
	w.load(a)
	mine, theirs := w.command(a.id, contract.CommandCancel, `{}`), w.command(other.id, contract.CommandCancel, `{}`)
	w.write(a, contract.Projection{Ordinal: 1, Status: task.StatusPending, Settle: []contract.Settlement{
		{CommandID: mine, Receipt: task.ReceiptRefused, Reason: "because"}, {CommandID: theirs, Receipt: task.ReceiptRefused},
	}})
	w.write(a, contract.Projection{Ordinal: 2, Status: task.StatusPending, Settle: []contract.Settlement{
		{CommandID: mine, Receipt: task.ReceiptCarriedOut},
	}})
	require.Equal(t, "refused", w.receipt(mine))
	require.Equal(t, "accepted", w.receipt(theirs), "a command of another task is not ours to settle")
}

func TestSaveTaskState_RequestsAndReleasesSlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(1)
	a, next := w.task(p, ""), w.task(p, "")
	w.load(a)
	answer := w.write(a, contract.Projection{Ordinal: 1, Status: task.StatusPending, Blocked: task.BlockedProviderLimit, ReleaseSlot: true})
	require.False(t, answer.HoldsSlot)
	require.True(t, w.holdsSlot(next.id), "a task that sleeps holds none")
	require.Equal(t, "provider_limit", w.row(a.id, "blocked_reason"))
	require.False(t, w.write(a, contract.Projection{Ordinal: 2, Status: task.StatusPending, RequestSlot: true}).HoldsSlot)
	require.Equal(t, "1", w.row(a.id, "queue_position"))
	w.load(next)
	w.write(next, contract.Projection{Ordinal: 1, Status: task.StatusCancelled, ReleaseSlot: true})
	require.True(t, w.holdsSlot(a.id))
	require.True(t, w.write(a, contract.Projection{Ordinal: 3, Status: task.StatusPending, RequestSlot: true}).HoldsSlot)
}

func TestSaveTaskState_CancelledTaskLeavesQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(1)
	w.task(p, "")
	a, behind := w.task(p, ""), w.task(p, "")
	w.load(a)
	w.write(a, contract.Projection{Ordinal: 1, Status: task.StatusCancelled, ReleaseSlot: true, Reason: "no"})
	require.Empty(t, w.row(a.id, "queued_at"))
	require.Empty(t, w.row(a.id, "queue_position"))
	require.Equal(t, "1", w.row(behind.id, "queue_position"))
}

func TestResult_OfAgentReport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	w.event(live.SandboxID, "agent.completed", `{"success": true, "turns": 4, "cost_usd": 0.5, "session_id": "s1",
		"stop_reason": "end_turn", "final_output": "old"}`)
	w.event(live.SandboxID, "agent.completed", `{"success": true, "turns": 9, "cost_usd": 0.75, "session_id": "s1",
		"stop_reason": "end_turn", "final_output": "done", "files_changed": 2, "branch_name": null, "tests_passed": true}`)
	w.event(live.SandboxID, "continuous.completed", `{"stop_reason": "validation_passed", "validation_passed": true,
		"code_pushed": true, "pr_url": "", "total_cost_usd": 1.5}`)
	w.write(a, contract.Projection{
		Ordinal: 4, Status: task.StatusCompleted, ReleaseSlot: true, Branch: "feature/x", PullURL: "https://x/7", PullNumber: 7,
		Ended: &contract.AttemptEnd{Number: 1, Outcome: "completed"},
	})
	require.JSONEq(t, `{"success": true, "turns": 9, "cost_usd": 0.75, "session_id": "s1", "stop_reason": "validation_passed",
		"output": "done", "branch_name": "feature/x", "validation_passed": true, "validation_type": "in_sandbox",
		"artifacts": [
			{"type": "code_changes", "path": "https://x/7", "has_tests": true, "pr_created": true, "pr_url": "https://x/7",
				"pr_number": 7, "files_changed": 2},
			{"type": "test_coverage", "all_passed": true, "has_tests": true}]}`, w.row(a.id, "result"))
	require.Equal(t, "validation_passed", one[string](t, w.pool, `SELECT stop_reason FROM attempts`))
}

// What omoi pushed counts, of whichever attempt: an agent in its sandbox can report anything.
func TestResult_ChangedNothing(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]bool{"beef": false, "base": true} {
		w := newWorld(t, postgres.Config{})
		a, validator := handedIn(w)
		worker := one[string](t, w.pool, `SELECT sandbox_id FROM attempts WHERE number = 1`)
		w.exec(`UPDATE tasks SET base_commit = 'base'`)
		w.exec(`UPDATE attempts SET head_commit = $1 WHERE number = 1`, head)
		w.event(worker, "continuous.completed", `{"changed_nothing": true}`)
		w.write(a, contract.Projection{Ordinal: 6, Status: task.StatusCompleted, ReleaseSlot: true, Ended: &contract.AttemptEnd{Number: validator.Number, Outcome: "completed"}})
		require.Equal(t, want, strings.Contains(w.row(a.id, "result"), "changed_nothing"), head)
	}
}

func TestResult_WithoutEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	command := w.command(a.id, contract.CommandComplete, `{"success": true, "result": {"answer": 42}}`)
	w.write(a, contract.Projection{
		Ordinal: 4, Status: task.StatusCompleted, ReleaseSlot: true,
		Ended:  &contract.AttemptEnd{Number: live.Number, Outcome: "completed"},
		Settle: []contract.Settlement{{CommandID: command, Receipt: task.ReceiptCarriedOut}},
	})
	require.JSONEq(t, `{"success": true, "answer": 42}`, w.row(a.id, "result"))
}

func TestSaveTaskState_IdleEndOnBus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	w.exec(`UPDATE sandboxes SET last_work_at = now() - interval '900 s' WHERE id = $1`, live.SandboxID)
	w.write(a, contract.Projection{
		Ordinal: 4, Status: task.StatusPending, Class: task.ClassAgentError,
		Ended: &contract.AttemptEnd{Number: live.Number, Outcome: "failed", Idle: contract.IdleStuck},
	})
	told := pgtest.Frames(t, w.pool, "SANDBOX_TERMINATED_IDLE")
	require.Len(t, told, 1)
	require.Equal(t, []string{"sandbox", live.SandboxID}, []string{told[0].EntityType, told[0].EntityID})
	said := payloadOf(t, told[0])
	require.Equal(t, "stuck_running", said["reason"])
	require.InDelta(t, 945, said["idle_duration_seconds"], 45)
}

func TestResult_CountsVerdicts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	failed := w.command(a.id, contract.CommandVerdict, `{"passed": false, "feedback": "add tests", "recommendations": ["one"]}`)
	w.write(a, contract.Projection{
		Ordinal: 4, Status: task.StatusNeedsRevision, Ended: &contract.AttemptEnd{Number: live.Number, Outcome: "revised"},
		Settle: []contract.Settlement{{CommandID: failed, Receipt: task.ReceiptCarriedOut}},
	})
	require.JSONEq(t, `{"validation_passed": false, "validation_iteration": 1, "revision_feedback": "add tests",
		"revision_recommendations": ["one"]}`, w.row(a.id, "result"))
	second := w.begin(a, 5)
	w.write(a, contract.Projection{Ordinal: 6, Status: task.StatusAssigned, SandboxID: second.SandboxID})
	passed := w.command(a.id, contract.CommandVerdict, `{"passed": true, "feedback": "good"}`)
	w.write(a, contract.Projection{
		Ordinal: 7, Status: task.StatusCompleted, ReleaseSlot: true,
		Ended:  &contract.AttemptEnd{Number: second.Number, Outcome: "completed"},
		Settle: []contract.Settlement{{CommandID: passed, Receipt: task.ReceiptCarriedOut}},
	})
	var result map[string]any
	require.NoError(t, json.Unmarshal([]byte(w.row(a.id, "result")), &result))
	require.Equal(t, true, result["validation_passed"])
	require.InDelta(t, 2, result["validation_iteration"], 0)
	require.NotEmpty(t, result["validated_at"])
}

// The test sends the same ten projections from four places concurrently.
func TestSaveTaskState_ConcurrentProjections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for ordinal := int64(4); ordinal <= 14; ordinal++ {
				p := contract.Projection{Ordinal: ordinal, Status: task.StatusRunning, SandboxID: live.SandboxID, Retries: int(ordinal)}
				_, err := w.writeAs(a, p, a.run, true)
				if err != nil {
					t.Errorf("project: %v", err)
				}
			}
		})
	}
	wait.Wait()
	require.Equal(t, "14", w.row(a.id, "ordinal"))
	require.Equal(t, "14", w.row(a.id, "retry_count"))
}

// everything returns all that projections write, as text.
func (w world) everything() string {
	w.t.Helper()
	return one[string](w.t, w.pool, `SELECT (SELECT string_agg(t::text, ';' ORDER BY t.id) FROM tasks t)
		|| (SELECT string_agg(a::text, ';' ORDER BY a.task_id, number) FROM attempts a)
		|| (SELECT string_agg(c::text, ';' ORDER BY c.id) FROM commands c)
		|| (SELECT string_agg(s::text, ';' ORDER BY s.id) FROM sandboxes s)
		|| (SELECT coalesce(string_agg(s::text, ';' ORDER BY s.task_id), '') FROM slots s)`)
}
