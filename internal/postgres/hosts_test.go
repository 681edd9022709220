package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// hostSeen sends a heartbeat of a host, and returns whether the host was lost before.
func (w world) hostSeen(id string, providers []string, capacity int) bool {
	w.t.Helper()
	back, err := w.store.HostSeen(w.t.Context(), id, providers, nil, capacity)
	require.NoError(w.t, err)
	return back
}

// silence sets the last heartbeat of a host to an hour ago.
func (w world) silence(host string) {
	w.t.Helper()
	w.exec(`UPDATE hosts SET seen_at = now() - interval '1 hour' WHERE id = $1`, host)
}

func (w world) loseHost(host string) client.Host {
	w.t.Helper()
	w.silence(host)
	h, err := w.store.LoseHost(w.t.Context(), host)
	require.NoError(w.t, err)
	return h
}

func lost(_ client.Host, err error) error { return err }

// local returns a task with a local sandbox on the host.
func (w world) local(host string) (asked, contract.LiveAttempt) {
	w.t.Helper()
	w.hostSeen(host, []string{"local"}, 0)
	a := w.task(w.project(5), "provider = 'local'")
	return a, w.running(a)
}

func TestHosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{Machine: "pc1"})
	w.box("local")
	_, over := w.box("local")
	w.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, over)
	_, verified := w.box("local")
	w.settle(verified, "verified")
	_, err := w.store.HostSeen(t.Context(), "other", []string{"docker"}, []string{"claude"}, 3)
	require.NoError(t, err)
	w.silence("host")
	hosts, err := w.store.Hosts(t.Context())
	require.NoError(t, err)
	require.Len(t, hosts, 2)
	require.Equal(t, []any{"other", true, 3, []string{"claude"}}, []any{hosts[0].ID, hosts[0].Online, *hosts[0].Capacity, hosts[0].Agents})
	got := hosts[1]
	require.WithinDuration(t, time.Now().Add(-time.Hour), got.SeenAt, time.Minute)
	got.SeenAt = time.Time{}
	require.Equal(t, client.Host{ID: "host", Name: "pc1", Providers: []string{"local"}, Agents: []string{}, Running: 1, Unverified: 1}, got)
}

func TestLoseHost_HeartbeatPreventsLoss(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	_, id := w.box("local")
	_, err := w.store.LoseHost(t.Context(), "host")
	require.Equal(t, task.CodeConflict, task.CodeOf(err))
	require.ErrorContains(t, err, "last heartbeat")
	require.NotEqual(t, task.SandboxLost, w.ledger(id).State)
}

func TestLoseHost_LosesSandboxes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{MaxUnverified: 1})
	_, id := w.box("local")
	_, left := w.local("host")
	w.exec(`UPDATE attempts SET ended_at = now() - interval '1 hour'`)
	w.exec(`UPDATE sandboxes SET ended_at = now() - interval '1 hour', started_at = created_at WHERE id = $1`, left.SandboxID)
	next := w.task(w.project(5), "provider = 'local'")
	w.load(next)
	in := contract.BeginAttemptInput{TaskID: next.id, FirstRunID: next.run, Ordinal: 1, Kind: "first"}
	w.silence("host")
	begun, err := w.store.BeginAttempt(t.Context(), in, next.run)
	require.NoError(t, err)
	require.Equal(t, string(task.ReasonUnverifiedLimit), begun.Reason)
	require.Equal(t, []task.HostReason{{Name: "host", Sandboxes: 1}}, w.awaits(next.id).Hosts)

	for range 2 { // the second call changes nothing
		h := w.loseHost("host")
		require.NotNil(t, h.LostAt)
		require.Equal(t, []int{0, 0, 2}, []int{h.Running, h.Unverified, h.Lost})
	}
	require.Equal(t, task.SandboxLost, w.ledger(id).State)
	require.Nil(t, w.ledger(id).Salvage, "there was no work yet")
	require.Equal(t, task.SalvageLost, w.ledger(left.SandboxID).Salvage.Kind)
	require.NotNil(t, w.ledger(left.SandboxID).Salvage.LostSince)
	orphans, err := w.store.LedgerOrphans(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Empty(t, orphans)
	targets, err := w.store.Targets(t.Context())
	require.NoError(t, err)
	require.Empty(t, targets)

	require.True(t, w.hostSeen("host", []string{"local"}, 0), "who reports it looks for what is left there")
	require.False(t, w.hostSeen("host", []string{"local"}, 0))
	targets, err = w.store.Targets(t.Context())
	require.NoError(t, err)
	require.Len(t, targets, 1, "it is back")
	require.Equal(t, task.SandboxLost, w.ledger(id).State)
	begun, err = w.store.BeginAttempt(t.Context(), in, next.run)
	require.NoError(t, err)
	require.Zero(t, begun.Wait, begun.Reason)
}

// The event reaches the workflow in any state, although no worker polls the queue of the host.
func TestLoseHost_ReportsRunningAttemptOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	_, live := w.local("host")
	for range 2 {
		w.loseHost("host")
	}
	digest, err := w.store.LoadEvents(t.Context(), contract.LoadEventsInput{SandboxID: live.SandboxID})
	require.NoError(t, err)
	require.Len(t, digest.Milestones, 1)
	require.Equal(t, event.AgentFailed, digest.Milestones[0].Type)
	require.Equal(t, task.ClassInfrastructure, digest.Milestones[0].Class)
	require.Contains(t, one[string](t, w.pool, `SELECT content FROM stored_texts WHERE id = $1`, digest.Milestones[0].ErrorID), "host) was declared lost")
	require.True(t, one[bool](t, w.pool, `SELECT events_due_at <= now() FROM sandboxes WHERE id = $1`, live.SandboxID))
}

// A host can return under its old ID, or under a new one if its home was removed.
func TestFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	ctx := t.Context()
	_, over := w.local("old")
	_, live := w.local("old")
	w.exec(`UPDATE sandboxes SET ended_at = now(), salvage = '{"kind": "lost"}' WHERE id = $1`, over.SandboxID)
	w.hostSeen("new", []string{"local"}, 0)
	find := func(host string) {
		var listed []sandbox.Sandbox
		for _, id := range []string{over.SandboxID, live.SandboxID, "unknown"} {
			listed = append(listed, sandbox.Sandbox{Labels: sandbox.Labels{SandboxID: id}})
		}
		require.NoError(t, w.store.Found(ctx, host, listed))
	}
	find("new")
	require.Equal(t, "old", w.ledger(over.SandboxID).HostID, "where its host reports too, it stays")
	w.silence("old")
	find("new")
	got := w.ledger(over.SandboxID)
	require.Equal(t, "new", got.HostID)
	require.Nil(t, got.Salvage, "its work can be saved after all")
	require.Equal(t, "old", w.ledger(live.SandboxID).HostID, "its task calls it there")

	w.loseHost("new")
	require.Equal(t, task.SandboxLost, w.ledger(over.SandboxID).State)
	find("new")
	got = w.ledger(over.SandboxID)
	require.Equal(t, task.SandboxRunning, got.State, "it is back")
	require.Nil(t, got.Salvage)
	w.settle(over.SandboxID, "verified")
	find("old")
	require.Equal(t, "new", w.ledger(over.SandboxID).HostID, "at its end")
}

func TestSweepEvents_EndsSilentUnmanagedSandboxes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	for id, last := range map[string]string{"speaks": "now() - interval '23 hours'", "silent": "now() - interval '25 hours'", "mute": "NULL"} {
		w.exec(`INSERT INTO sandboxes (id, provider, machine, state, created_at, last_event_at)
			VALUES ($1, 'bare', false, 'running', now() - interval '3 days', `+last+`)`, id)
	}
	w.exec(`INSERT INTO sandboxes (id, provider, machine, state, created_at)
		VALUES ('refused', 'bare', false, 'running', now() - interval '11 minutes'), ('new', 'bare', false, 'running', now())`)
	_, local := w.box("local")
	w.exec(`UPDATE sandboxes SET created_at = now() - interval '3 days' WHERE id = $1`, local)
	require.NoError(t, w.store.SweepEvents(t.Context()))
	gone := one[[]string](t, w.pool, `SELECT array_agg(id ORDER BY id) FROM sandboxes WHERE state = 'gone' AND gone_at IS NOT NULL AND verified_at IS NULL`)
	require.Equal(t, "mute refused silent", strings.Join(gone, " "))
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.load(a)
	live := w.begin(a, 1)
	made := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	listed := []sandbox.Sandbox{
		{Labels: sandbox.Labels{SandboxID: "forgotten", TaskID: a.id, Attempt: 7}, ProviderID: "omoi-forgotten", CreatedAt: made},
		{Labels: sandbox.Labels{SandboxID: "stranger", TaskID: "no task of ours"}, CreatedAt: made},
		{Labels: sandbox.Labels{SandboxID: live.SandboxID, TaskID: a.id}, CreatedAt: made},
	}
	for range 2 { // the second call changes nothing
		require.NoError(t, w.store.Adopt(t.Context(), "local", "here", listed))
	}
	got := w.ledger("forgotten")
	require.Equal(t, task.SandboxRunning, got.State)
	require.Equal(t, "here", got.HostID)
	require.Equal(t, a.id, got.TaskID)
	require.Equal(t, 7, got.Attempt)
	require.NotNil(t, got.EndedAt)
	require.Empty(t, w.ledger("stranger").TaskID)
	require.Nil(t, w.ledger(live.SandboxID).EndedAt, "a row that there is stays as it is")
	orphans, err := w.store.LedgerOrphans(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Len(t, orphans, 2)
}
