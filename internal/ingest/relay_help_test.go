package ingest_test

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

// quick are settings under which nothing takes long.
func quick() ingest.RelayConfig {
	return ingest.RelayConfig{
		Poll: 20 * time.Millisecond, FirstPause: time.Millisecond, MaxPause: 20 * time.Millisecond, MaxHold: 20 * time.Millisecond,
		Pace: ingest.Pace{Burst: 1000, Rate: 1000}, Meter: unmetered{}, Scrub: func(title string) string { return title },
		Resume: func(ctx context.Context, _ string) context.Context { return ctx },
	}
}

// relay runs a relay of another process until the test ends, or until it is stopped.
func (b *bench) relay(cfg ingest.RelayConfig, runs ingest.Runs) (stop func()) {
	b.t.Helper()
	return run(b.t, ingest.NewRelay(cfg, b.store, runs, live.New(), quiet()).Run)
}

// ask writes a command as its acceptance does.
func (b *bench) ask(taskID, kind string) string {
	b.t.Helper()
	id := task.NewID()
	b.exec(`WITH c AS (INSERT INTO commands (id, task_id, kind) VALUES ($1, $2, $3))
		UPDATE task_outbox SET due_at = least(coalesce(due_at, now()), now()) WHERE task_id = $2`, id, taskID, kind)
	return id
}

// grant gives a task a slot, as the gate does.
func (b *bench) grant(taskID string) {
	b.t.Helper()
	b.exec(`INSERT INTO slots (task_id, organization_id, project_id) VALUES ($1, $1, $1)`, taskID)
	b.exec(`UPDATE task_outbox SET admit = true, due_at = now() WHERE task_id = $1`, taskID)
}

// settled waits until nothing of a task is due and nobody has it.
func (b *bench) settled(taskID string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		return one[bool](b, `SELECT due_at IS NULL AND leased_by = '' AND NOT EXISTS (SELECT FROM sandboxes s
			WHERE s.id = r.sandbox_id AND s.events_due_at <= now()) FROM task_outbox r WHERE task_id = $1`, taskID)
	}, 30*time.Second, 2*time.Millisecond)
}

func (b *bench) command(id string) (state string, sent bool) {
	b.t.Helper()
	require.NoError(b.t, b.pool.QueryRow(b.t.Context(),
		`SELECT state, sent_at IS NOT NULL FROM commands WHERE id = $1`, id).Scan(&state, &sent))
	return state, sent
}

func (b *bench) post(sandbox string, types ...string) {
	b.t.Helper()
	list := make([]ingest.Event, 0, len(types))
	for _, eventType := range types {
		list = append(list, newEvent(eventType))
	}
	_, err := b.store.CommitEvents(b.t.Context(), ingest.Commit{
		Requests: []ingest.Request{{SandboxID: sandbox, Events: list}}, Quiet: time.Minute,
	})
	require.NoError(b.t, err)
}

// lockedBuffer is a buffer that several goroutines may use.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
