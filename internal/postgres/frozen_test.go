package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// Frozen time counts neither for an attempt nor for a budget.
func TestFrozenTime_DoesNotCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(1), "")
	live := w.running(a)
	w.exec(`UPDATE tasks SET provider = 'local'`)
	w.exec(`UPDATE sandboxes SET provider = 'local', host_bound = true, machine = true, made_at = now() - interval '10 hours', started_at = now() - interval '10 hours' WHERE id = $1`, live.SandboxID)
	w.exec(`UPDATE attempts SET assigned_at = now() - interval '10 hours', started_at = now() - interval '10 hours'`)
	w.exec(`UPDATE tasks SET created_at = now() - interval '11 hours'`)
	used := func() client.Usage {
		spent, err := w.store.TaskBudget(t.Context(), w.org, a.id)
		require.NoError(t, err)
		return spent.Used
	}
	require.InDelta(t, 10*3600, used().SandboxSeconds, 60)
	require.InDelta(t, 11*3600, used().WallClockS, 60)

	require.NoError(t, w.store.NoteFrozen(t.Context()))
	require.NoError(t, w.store.NoteFrozen(t.Context()), "a stop that was cut short is repeated")
	w.exec(`UPDATE outages SET since = now() - interval '9 hours' WHERE part = 'frozen'`)
	frozen, err := w.store.FrozenTime(t.Context(), live.SandboxID)
	require.NoError(t, err)
	require.InDelta(t, 9*3600, frozen.Seconds(), 60, "while it lasts")
	require.NoError(t, w.store.NoteThawed(t.Context()))
	require.NoError(t, w.store.NoteThawed(t.Context()))
	w.exec(`UPDATE outages SET until = now() - interval '1 hour' WHERE part = 'frozen'`)
	frozen, err = w.store.FrozenTime(t.Context(), live.SandboxID)
	require.NoError(t, err)
	require.InDelta(t, 8*3600, frozen.Seconds(), 60)
	require.InDelta(t, 2*3600, used().SandboxSeconds, 60)
	require.InDelta(t, 3*3600, used().WallClockS, 60)

	w.exec(`UPDATE sandboxes SET provider = 'daytona', host_bound = false, state = 'running'`)
	frozen, err = w.store.FrozenTime(t.Context(), live.SandboxID)
	require.NoError(t, err)
	require.Zero(t, frozen, "a sandbox elsewhere is never frozen")
	w.exec(`UPDATE tasks SET provider = 'daytona'`)
	require.InDelta(t, 11*3600, used().WallClockS, 60, "nor is its task's clock stopped")
	watched, err := w.store.Watched(t.Context(), guardian.WatchQuery{Only: live.SandboxID, Limit: 1})
	require.NoError(t, err)
	require.InDelta(t, 10*3600, watched[0].Age.Seconds(), 60)
	elsewhere, err := w.store.SandboxesElsewhere(t.Context())
	require.NoError(t, err)
	require.Len(t, elsewhere, 1)
}

// Where omoi dev was killed, or its machine slept or was off, the time from its last sign of life on does not count.
func TestKeepThawed_SilenceDoesNotCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{PulsePeriod: time.Minute})
	live := w.running(w.task(w.project(1), ""))
	w.exec(`UPDATE sandboxes SET provider = 'local', host_bound = true WHERE id = $1`, live.SandboxID)
	frozen := func() time.Duration {
		got, err := w.store.FrozenTime(t.Context(), live.SandboxID)
		require.NoError(t, err)
		return got
	}
	later := func(hours int) { // all that is stored is older
		w.exec(`UPDATE outages SET since = since - make_interval(hours => $1), until = until - make_interval(hours => $1)`, hours)
		w.exec(`UPDATE attempts SET assigned_at = assigned_at - make_interval(hours => $1)`, hours)
	}
	for range 3 {
		require.NoError(t, w.store.KeepThawed(t.Context()))
		require.Zero(t, frozen())
	}
	later(72)
	require.InDelta(t, (72*time.Hour - 3*time.Minute).Seconds(), frozen().Seconds(), 30, "while it lasts")
	require.NoError(t, w.store.KeepThawed(t.Context()))
	require.NoError(t, w.store.KeepThawed(t.Context()))
	before := frozen()
	later(1)
	require.InDelta(t, (before + time.Hour - 3*time.Minute).Seconds(), frozen().Seconds(), 30)

	require.NoError(t, w.store.KeepThawed(t.Context()))
	require.NoError(t, w.store.NoteThawed(t.Context()))
	before = frozen()
	later(1)
	require.InDelta(t, before.Seconds(), frozen().Seconds(), 30, "omoi dev was stopped and leaves its agents running")

	require.NoError(t, w.store.KeepThawed(t.Context()))
	require.NoError(t, w.store.NoteFrozen(t.Context()))
	before = frozen()
	later(1)
	require.InDelta(t, (before + time.Hour).Seconds(), frozen().Seconds(), 30, "omoi dev has frozen them")
}

// A task without a sandbox cannot run while omoi is stopped, whatever its provider.
func TestFrozenTime_OfATaskWithoutASandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(1), "")
	w.exec(`UPDATE tasks SET provider = 'daytona', created_at = now() - interval '11 hours'`)
	w.exec(`INSERT INTO outages (part, since, until) VALUES ('frozen', now() - interval '9 hours', now() - interval '1 hour')`)
	spent, err := w.store.TaskBudget(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.InDelta(t, 3*3600, spent.Used.WallClockS, 60)
}

// Only events of frozen sandboxes move by the frozen time.
func TestWatchedEvents_MovesOnlyEventsOfFrozenSandboxes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(1), "")
	live := w.running(a)
	w.event(live.SandboxID, "agent.message", `{}`)
	w.exec(`UPDATE sandbox_events SET created_at = now() - interval '10 hours'`)
	w.exec(`INSERT INTO outages (part, since, until) VALUES ('frozen', now() - interval '9 hours', now() - interval '1 hour')`)
	for provider, hours := range map[string]float64{"daytona": 10, "local": 2, "docker": 2} {
		w.exec(`UPDATE sandboxes SET provider = $1, host_bound = $2`, provider, task.ProviderOf(provider).HostBound)
		var month time.Time
		require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT partition_month FROM sandboxes`).Scan(&month))
		found, err := w.store.WatchedEvents(t.Context(), []guardian.Watched{{SandboxID: live.SandboxID, PartitionMonth: month, Head: 10}}, 10)
		require.NoError(t, err)
		require.Len(t, found[live.SandboxID], 1, provider)
		require.InDelta(t, hours*3600, time.Since(found[live.SandboxID][0].CreatedAt).Seconds(), 60, provider)
	}
}
