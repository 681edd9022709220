package ingest_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

// weigher notes how large the transactions are.
type weigher struct {
	ingest.IntakeStore

	mu      sync.Mutex
	largest int
	commits int
}

func (w *weigher) CommitEvents(ctx context.Context, c ingest.Commit) ([]ingest.Outcome, error) {
	size := 0
	for _, r := range c.Requests {
		for _, e := range r.Events {
			size += e.Size()
		}
	}
	w.mu.Lock()
	w.largest, w.commits = max(w.largest, size), w.commits+1
	w.mu.Unlock()
	return w.IntakeStore.CommitEvents(ctx, c)
}

// heavy is an event with so many bytes of data.
func heavy(bytes int) ingest.Event {
	return ingest.Event{Type: "agent.tool_completed", Data: json.RawMessage(`{"tool_response":"` + strings.Repeat("x", bytes-20) + `"}`)}
}

// Events wait within a bound of bytes, and go into transactions of a bounded size: of large
// ones the database would not be done in time, again and again.
func TestLargeEventsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	const each, fit, sent = 100 << 10, 6, 10
	b := setup(t)
	sandbox, store := b.sandbox(), &weigher{IntakeStore: b.store}
	intake := ingest.NewIntake(ingest.IntakeConfig{Room: fit * (each + 200), MaxBytes: each + 200, Meter: unmetered{}}, store, live.New(), quiet())
	results := make(chan error, sent)
	for range sent {
		go func() {
			_, err := intake.Single(within(t), sandbox, heavy(each), false)
			results <- err
		}()
	}
	for range sent - fit {
		require.Equal(t, task.CodeUnavailable, task.CodeOf(<-results))
	}
	run(t, intake.Run)
	for range fit {
		require.NoError(t, <-results)
	}
	b.contiguous(sandbox, fit)
	require.Equal(t, fit/2, store.commits)
	require.LessOrEqual(t, store.largest, 2*(each+200), "two fit, for the first alone does not fill it")
	_, err := intake.Single(within(t), sandbox, heavy(each), false)
	require.NoError(t, err, "there is room again")
}
