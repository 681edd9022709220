package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

func TestInstallation_HasOneID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	first, err := w.store.Installation(t.Context())
	require.NoError(t, err)
	require.Len(t, first, 26)
	second, err := postgres.New(w.pool, postgres.Config{}).Installation(t.Context())
	require.NoError(t, err)
	require.Equal(t, first, second)
}

func TestSetTokenKey_OneWriter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	none, err := w.store.TokenKey(t.Context())
	require.NoError(t, err)
	require.Zero(t, none)
	one, two := token.Print{KeyID: "one", Hash: "1"}, token.Print{KeyID: "two", Hash: "2"}
	for _, c := range []struct {
		was, now, then token.Print
		written        bool
	}{{none, one, one, true}, {none, two, one, false}, {one, two, two, true}} {
		written, err := w.store.SetTokenKey(t.Context(), c.was, c.now)
		require.NoError(t, err)
		require.Equal(t, c.written, written)
		known, err := w.store.TokenKey(t.Context())
		require.NoError(t, err)
		require.Equal(t, c.then, known)
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	ctx := t.Context()
	w.hostSeen("a", []string{"local", "docker", "daytona"}, 0)
	w.hostSeen("b", []string{"local"}, 0)
	w.exec(`UPDATE hosts SET seen_at = now() - interval '1 hour' WHERE id = 'b'`)
	w.box("daytona")
	targets, err := w.store.Targets(ctx)
	require.NoError(t, err)
	require.Contains(t, targets, contract.ReaperTarget{Provider: "local", Queue: contract.QueueHost("a")})
	require.Contains(t, targets, contract.ReaperTarget{Provider: "docker", Queue: contract.QueueHost("a")})
	require.Contains(t, targets, contract.ReaperTarget{Provider: "daytona", Queue: contract.QueueSandboxes})
	require.False(t, slices.ContainsFunc(targets, func(r contract.ReaperTarget) bool { return r.Queue == contract.QueueHost("b") }))
}

func TestLedgerOrphans(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	const grace = time.Minute
	found := func() []string {
		orphans, err := w.store.LedgerOrphans(t.Context(), grace)
		require.NoError(t, err)
		var ids []string
		for _, o := range orphans {
			ids = append(ids, o.SandboxID)
		}
		return ids
	}
	a, live := w.box("local")
	_, external := w.box("external")
	w.exec(`INSERT INTO sandboxes (id, provider, machine, state, created_at)
		VALUES ('bare', 'bare', false, 'running', now() - interval '1 day')`)
	w.exec(`INSERT INTO sandboxes (id, provider, machine, created_at) VALUES ('nobody', 'local', true, now() - interval '1 day')`)
	w.exec(`INSERT INTO sandboxes (id, provider, machine) VALUES ('just-made', 'local', true)`)
	require.Equal(t, []string{"nobody"}, found(), "live ones and young ones are none")
	w.exec(`UPDATE attempts SET ended_at = now() - interval '30 seconds'`)
	require.Equal(t, []string{"nobody"}, found(), "within grace their cleanup is under way")
	w.exec(`UPDATE attempts SET ended_at = now() - interval '61 seconds'`)
	require.ElementsMatch(t, []string{"nobody", live, external}, found())
	w.settle(live, "gone")
	w.settle(external, "gone")
	require.ElementsMatch(t, []string{"nobody", live}, found(), "gone is not verified")
	w.settle(live, "verified")
	w.settle("nobody", "lost")
	require.Empty(t, found())
	orphans, err := w.store.LedgerOrphans(t.Context(), -time.Hour)
	require.NoError(t, err)
	require.Len(t, orphans, 1)
	_ = a
}

func TestUnowned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a, live := w.box("local")
	_, over := w.box("local")
	_, verified := w.box("local")
	w.exec(`UPDATE attempts SET ended_at = now() - interval '1 hour' WHERE sandbox_id <> $1`, live)
	w.settle(verified, "verified")
	listed := func(id string, created time.Time) sandbox.Sandbox {
		return sandbox.Sandbox{Labels: sandbox.Labels{SandboxID: id}, CreatedAt: created}
	}
	old := time.Now().Add(-24 * time.Hour)
	orphans, err := w.store.Unowned(t.Context(), []sandbox.Sandbox{
		listed(live, old), listed(over, old), listed(verified, old),
		listed("unknown-old", old), listed("unknown-undated", time.Time{}), listed("unknown-young", time.Now()),
	}, time.Minute)
	require.NoError(t, err)
	var ids []string
	for _, o := range orphans {
		ids = append(ids, o.SandboxID)
		require.NotEmpty(t, o.Reason)
		if o.SandboxID == over {
			require.NotEmpty(t, o.TaskID)
			require.Equal(t, 1, o.Attempt)
		}
	}
	require.ElementsMatch(t, []string{over, verified, "unknown-old", "unknown-undated"}, ids)
	none, err := w.store.Unowned(t.Context(), nil, time.Minute)
	require.NoError(t, err)
	require.Empty(t, none)
	_ = a
}

func TestAbandon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	ctx := t.Context()
	p := w.project(1)
	a, next := w.task(p, ""), w.task(p, "")
	live := w.running(a)
	cancel, retry := w.command(a.id, contract.CommandCancel, `{}`), w.command(a.id, contract.CommandRetry, `{}`)
	w.exec(`UPDATE commands SET sent_at = now() WHERE id = $1`, retry)
	open, err := w.store.OpenTasks(ctx, time.Hour)
	require.NoError(t, err)
	require.Empty(t, open)
	open, err = w.store.OpenTasks(ctx, -time.Hour)
	require.NoError(t, err)
	require.Equal(t, []string{a.id}, open, "one that no run has loaded is not open")

	require.NoError(t, w.store.Abandon(ctx, a.id, "The workflow was terminated."))
	require.Equal(t, "failed", w.row(a.id, "status"))
	require.Equal(t, "terminated", w.row(a.id, "failure_class"))
	require.Equal(t, "The workflow was terminated.", w.row(a.id, "error_message"))
	require.Equal(t, "too_late", w.receipt(cancel))
	require.Equal(t, "accepted", w.receipt(retry))
	require.True(t, one[bool](t, w.pool, `SELECT c.sent_at IS NULL AND r.due_at <= now() FROM commands c
		JOIN task_outbox r ON r.task_id = c.task_id WHERE c.id = $1`, retry), "what was told to the run that is gone goes out as a start")
	require.False(t, w.holdsSlot(a.id))
	require.True(t, w.holdsSlot(next.id), "the slot goes to the next")
	require.NotNil(t, w.ledger(live.SandboxID).EndedAt)
	require.Empty(t, one[string](t, w.pool, `SELECT coalesce(sandbox_id, '') FROM task_outbox WHERE task_id = $1`, a.id))
	before := w.everything()
	require.NoError(t, w.store.Abandon(ctx, a.id, "again"))
	require.Equal(t, before, w.everything(), "a task that is final stays")

	loaded := w.loadAs(a.ref(), "reset-run")
	require.True(t, loaded.Reset)
	require.Equal(t, task.StatusPending, loaded.State.Status, "a reset brings it back")
	require.Nil(t, loaded.Live)
}

// A workflow may end before any worker has loaded its task.
func TestOpenTasks_StartNotLoaded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	open := func() []string {
		ids, err := w.store.OpenTasks(t.Context(), time.Minute)
		require.NoError(t, err)
		return ids
	}
	a := w.task(w.project(1), "")
	w.exec(`UPDATE commands SET sent_at = NULL`)
	require.Empty(t, open(), "its start is not sent")
	w.exec(`UPDATE commands SET sent_at = now() - interval '59 seconds'`)
	require.Empty(t, open())
	w.exec(`UPDATE commands SET sent_at = now() - interval '61 seconds'`)
	require.Equal(t, []string{a.id}, open())
	w.exec(`UPDATE commands SET claimed_by = 'a run'`)
	require.Empty(t, open(), "it was taken up")

	w.exec(`UPDATE tasks SET status = 'failed', run_id = 'before' WHERE id = $1`, a.id)
	retry := w.command(a.id, contract.CommandRetry, `{}`)
	w.exec(`UPDATE commands SET sent_at = now() - interval '61 seconds' WHERE id = $1`, retry)
	require.Equal(t, []string{a.id}, open(), "a retry whose run was ended before it loaded the task")
	before := w.row(a.id, "failure_class")
	require.NoError(t, w.store.Abandon(t.Context(), a.id, "ended"))
	require.Equal(t, before, w.row(a.id, "failure_class"), "a task that is final stays")
	require.True(t, one[bool](t, w.pool, `SELECT sent_at IS NULL FROM commands WHERE id = $1`, retry), "and is begun again")
	require.Empty(t, open())
}

func TestEndReaperRest_OneCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	_, err := w.store.Installation(t.Context())
	require.NoError(t, err)
	end := func() bool {
		rested, err := w.store.EndReaperRest(t.Context())
		require.NoError(t, err)
		return rested
	}
	require.False(t, end())
	for range 2 {
		require.NoError(t, w.store.SetReaperRests(t.Context(), true))
	}
	require.True(t, end())
	require.False(t, end())
}

func TestAbandon_RunStillActive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(1), "")
	live := w.running(a)
	require.NoError(t, w.store.Abandon(t.Context(), a.id, "seemed closed"))
	answer, err := w.writeAs(a, contract.Projection{Ordinal: 4, Status: task.StatusRunning, SandboxID: live.SandboxID}, a.run, true)
	require.NoError(t, err)
	require.False(t, answer.Fenced)
	require.Equal(t, "running", w.row(a.id, "status"))
}

func TestIsIdle_WhenEverySandboxHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	rest := func() bool {
		r, err := w.store.IsIdle(t.Context())
		require.NoError(t, err)
		return r
	}
	require.True(t, rest())
	a, id := w.box("local")
	require.False(t, rest())
	w.write(a, contract.Projection{Ordinal: 2, Status: task.StatusCancelled, ReleaseSlot: true})
	require.False(t, rest(), "its sandbox is not verified gone")
	w.settle(id, "gone")
	require.False(t, rest())
	w.settle(id, "verified")
	require.True(t, rest())
}
