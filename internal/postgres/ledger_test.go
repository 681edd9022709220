package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// box creates a task with an attempt in a sandbox of the provider.
func (w world) box(provider string) (asked, string) {
	w.t.Helper()
	w.hostSeen("host", []string{"local"}, 0)
	a := w.task(w.project(5), "provider = '"+provider+"'")
	w.load(a)
	return a, w.begin(a, 1).SandboxID
}

func (w world) settle(sandboxID, event string) {
	w.t.Helper()
	require.NoError(w.t, w.store.RecordSandboxState(w.t.Context(), contract.RecordSandboxStateInput{SandboxID: sandboxID, Event: event}))
}

func (w world) ledger(sandboxID string) task.Sandbox {
	w.t.Helper()
	row, err := w.store.LedgerSandbox(w.t.Context(), sandboxID)
	require.NoError(w.t, err)
	return row
}

func TestLedger_StatesOfSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	ctx := t.Context()
	_, id := w.box("local")
	require.NoError(t, w.store.SandboxCreating(ctx, id, task.TransportPush))
	require.Equal(t, task.SandboxCreating, w.ledger(id).State)
	require.NoError(t, w.store.SandboxPlaced(ctx, id, "here/"))
	require.NoError(t, w.store.SandboxPlaced(ctx, id, "there/"), "the first place counts")
	require.Equal(t, "here/", w.ledger(id).ProviderID)
	require.NoError(t, w.store.SandboxRunning(ctx, id, sandbox.Sandbox{ProviderID: "p1", Adopted: true, Isolation: []string{"bubblewrap"}}))
	require.NoError(t, w.store.SandboxCreating(ctx, id, task.TransportPush), "a repeated create finds it running")
	require.NoError(t, w.store.AgentStarted(ctx, id))
	row := w.ledger(id)
	require.Equal(t, task.SandboxRunning, row.State)
	require.Equal(t, "p1", row.ProviderID)
	require.Equal(t, "host", row.HostID)
	require.Equal(t, []string{"bubblewrap"}, row.Isolation)
	require.NotNil(t, row.AdoptedAt)
	require.NotNil(t, row.StartedAt)
	require.NoError(t, w.store.AgentStarted(ctx, id))
	require.Equal(t, row.StartedAt, w.ledger(id).StartedAt, "the first time counts")

	w.settle(id, "deleting")
	require.Equal(t, task.SandboxDeleting, w.ledger(id).State)
	require.Equal(t, task.CodeGone, task.CodeOf(w.store.SandboxCreating(ctx, id, task.TransportPush)), "it is not made again")
	require.Equal(t, task.CodeGone, task.CodeOf(w.store.SandboxRunning(ctx, id, sandbox.Sandbox{})))
	w.settle(id, "gone")
	first := w.ledger(id)
	require.Equal(t, task.SandboxGone, first.State)
	require.Nil(t, first.VerifiedAt)
	require.NotNil(t, first.EndedAt)
	w.settle(id, "deleting")
	require.Equal(t, task.SandboxGone, w.ledger(id).State, "never back")
	w.settle(id, "verified")
	w.settle(id, "gone")
	last := w.ledger(id)
	require.NotNil(t, last.VerifiedAt)
	require.Equal(t, first.GoneAt, last.GoneAt)
	require.Equal(t, first.DeletedAt, last.DeletedAt)
}

func TestLedger_ExternalIsNeverVerified(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	_, id := w.box("external")
	w.settle(id, "gone")
	w.settle(id, "verified")
	row := w.ledger(id)
	require.Equal(t, task.SandboxGone, row.State)
	require.Nil(t, row.VerifiedAt)
}

func TestLedger_UnknownSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	ctx := t.Context()
	_, err := w.store.LedgerSandbox(ctx, "nobody")
	for _, err := range []error{
		err, w.store.SandboxCreating(ctx, "nobody", ""), w.store.SandboxRunning(ctx, "nobody", sandbox.Sandbox{}),
		w.store.AgentStarted(ctx, "nobody"), w.store.SaveSalvage(ctx, "nobody", task.Salvage{}),
		w.store.RecordSandboxState(ctx, contract.RecordSandboxStateInput{SandboxID: "nobody", Event: "gone"}),
		w.store.SaveHead(ctx, task.NewID(), 1, "c0ffee"), lost(w.store.LoseHost(ctx, "nobody")),
	} {
		require.Equal(t, task.CodeNotFound, task.CodeOf(err), "%v", err)
	}
	err = w.store.RecordSandboxState(ctx, contract.RecordSandboxStateInput{SandboxID: "nobody", Event: "nonsense"})
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
}

func TestSalvage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a, id := w.box("local")
	w.settle(id, "salvage_lost")
	lost := w.ledger(id).Salvage
	require.Equal(t, task.SalvageLost, lost.Kind)
	require.NotNil(t, lost.LostSince)
	saved := task.Salvage{Kind: task.SalvageRef, Ref: "refs/omoi/x", Files: 2, Bytes: 30}
	require.NoError(t, w.store.SaveSalvage(t.Context(), id, saved))
	require.Equal(t, &saved, w.ledger(id).Salvage)
	w.settle(id, "salvage_lost")
	require.Equal(t, &saved, w.ledger(id).Salvage, "what was saved is not lost")
	require.NoError(t, w.store.SaveHead(t.Context(), a.id, 1, "c0ffee"))
	require.Equal(t, "c0ffee", one[string](t, w.pool, `SELECT head_commit FROM attempts`))
}

func TestPulse_Ages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.load(a)
	id := w.begin(a, 1).SandboxID
	pulse := func() task.Pulse {
		p, err := w.store.Pulse(t.Context(), id, time.Minute)
		require.NoError(t, err)
		return p
	}
	p := pulse()
	for _, never := range []time.Duration{p.Assigned, p.Started, p.Beat, p.Work, p.Waiting} {
		require.Negative(t, never)
	}
	w.write(a, contract.Projection{Ordinal: 2, Status: task.StatusAssigned, SandboxID: id})
	for _, e := range [][2]string{
		{"agent.started", `{}`},
		{"agent.tool_use", `{}`},
		{"agent.heartbeat", `{"current_tool": "Write", "tool_age_ms": 1}`},
		{"agent.heartbeat", `{"current_tool": "Bash", "tool_age_ms": 5000}`},
	} {
		w.event(id, e[0], e[1])
	}
	w.exec(`UPDATE attempts SET assigned_at = now() - interval '100 seconds'`)
	w.exec(`UPDATE sandboxes SET last_event_at = now() - interval '10 seconds', last_work_at = now() - interval '30 seconds'`)
	w.exec(`UPDATE sandbox_events SET created_at = now() - (5 - sequence) * interval '10 seconds'`)
	p = pulse()
	near := float64(5 * time.Second)
	require.Equal(t, int64(4), p.Head)
	require.InDelta(t, 100*time.Second, p.Assigned, near)
	require.InDelta(t, 10*time.Second, p.Beat, near)
	require.InDelta(t, 30*time.Second, p.Work, near)
	require.InDelta(t, 40*time.Second, p.Started, near)
	require.Negative(t, p.Waiting)
	require.Equal(t, "Bash", p.Tool)
	require.InDelta(t, 15*time.Second, p.ToolAge, near)
	require.Equal(t, "agent.tool_use", p.LastType)
	w.event(id, "agent.heartbeat", `{"current_tool": "Bash", "tool_age_ms": 1e13}`)
	require.Greater(t, pulse().ToolAge, 24*time.Hour, "what no duration can hold is long")
	w.event(id, "agent.waiting", `{}`)
	w.event(id, "agent.heartbeat", `{"current_tool": null, "tool_age_ms": null}`)
	w.event(id, "agent.checkpoint", `{}`)
	w.event(id, "agent.checkpoint_failed", `{}`)
	p = pulse()
	require.GreaterOrEqual(t, p.Waiting, time.Duration(0), "heartbeats and checkpoints do not end the wait")
	require.Empty(t, p.Tool)
	w.event(id, "agent.message", `{}`)
	require.Negative(t, pulse().Waiting)
}

func TestPulse_Interrupt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.load(a)
	id := w.begin(a, 1).SandboxID
	w.write(a, contract.Projection{Ordinal: 2, Status: task.StatusAssigned, SandboxID: id})
	w.exec(`INSERT INTO messages (id, sandbox_id, kind, content, sender_kind, state) VALUES (gen_random_uuid(), '` + id + `', 'interrupt', 'enough', 'guardian', 'answered')`)
	for _, c := range []struct{ kind, data, by string }{
		{"agent.interrupted", `{}`, ""},
		{"agent.shutdown", `{"reason": "complete"}`, ""},
		{"agent.shutdown", `{"reason": "interrupted"}`, "guardian"},
		{"agent.message", `{}`, ""},
	} {
		w.event(id, c.kind, c.data)
		p, err := w.store.Pulse(t.Context(), id, time.Hour)
		require.NoError(t, err)
		require.Equal(t, c.by != "", p.Interrupted, c.kind)
		require.Equal(t, c.by, p.InterruptedBy)
	}
}

func TestPulse_Outages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{PulsePeriod: 10 * time.Second})
	ctx := t.Context()
	_, id := w.box("local")
	out := func() (intake, relay time.Duration) {
		p, err := w.store.Pulse(ctx, id, 10*time.Minute)
		require.NoError(t, err)
		return p.IntakeOut, p.RelayOut
	}
	intake, relay := out()
	require.Equal(t, 10*time.Minute, intake, "what never beat was never there")
	require.Equal(t, 10*time.Minute, relay)
	require.NoError(t, w.store.Beat(ctx, ingest.PartIntake))
	require.NoError(t, w.store.Beat(ctx, ingest.PartRelay))
	require.NoError(t, w.store.Beat(ctx, ingest.PartRelay))
	intake, relay = out()
	require.Zero(t, intake)
	require.Zero(t, relay)

	near := float64(5 * time.Second)
	w.exec(`UPDATE component_heartbeats SET at = now() - interval '25 seconds' WHERE part = 'intake'`)
	intake, _ = out()
	require.Zero(t, intake, "two beats may be missed")
	w.exec(`UPDATE component_heartbeats SET at = now() - interval '100 seconds' WHERE part = 'intake'`)
	intake, relay = out()
	require.InDelta(t, 100*time.Second, intake, near, "it is down right now")
	require.Zero(t, relay)
	require.NoError(t, w.store.Beat(ctx, ingest.PartIntake))
	intake, _ = out()
	require.InDelta(t, 100*time.Second, intake, near, "it was down, and the store remembers")
	w.exec(`INSERT INTO outages VALUES ('intake', now() - interval '20 minutes', now() - interval '9 minutes'),
		('intake', now() - interval '2 hours', now() - interval '1 hour')`)
	intake, _ = out()
	require.InDelta(t, 160*time.Second, intake, near, "the part of an outage that lies in the window")
}

func TestRecordSandboxState_UnknownEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	_, id := w.box("external")
	for _, statement := range []string{
		`UPDATE sandboxes SET state = 'asleep' WHERE id = $1`,
		`INSERT INTO sandboxes (id, provider, machine, state) VALUES ($1 || '2', 'bare', false, 'asleep')`,
	} {
		_, err := w.pool.Exec(t.Context(), statement, id)
		require.ErrorContains(t, err, "cannot be 'asleep'", statement)
	}
}
