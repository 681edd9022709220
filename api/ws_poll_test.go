package api_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
)

// counted is a store that counts queries of sandboxes, and the maximum of concurrent bus queries.
type counted struct {
	*postgres.Store

	looks *atomic.Int64
	under *atomic.Int64
	most  *atomic.Int64
}

func count(s *postgres.Store) counted {
	return counted{Store: s, looks: &atomic.Int64{}, under: &atomic.Int64{}, most: &atomic.Int64{}}
}

func (c counted) EventsAfter(ctx context.Context, id string, after int64, limit int) ([]ingest.StoredEvent, error) {
	c.looks.Add(1)
	return c.Store.EventsAfter(ctx, id, after, limit)
}

func (c counted) BusEvents(
	ctx context.Context, who ingest.BusReader, after ingest.BusPlace, limit int,
) ([]ingest.BusEvent, ingest.BusPlace, error) {
	now := c.under.Add(1)
	defer c.under.Add(-1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	return c.Store.BusEvents(ctx, who, after, limit)
}

func (c counted) in(p *api.Ports) { p.EventLog, p.Bulletin = c, c }

// A sweep finds each sandbox with events within a minute, and reads only those with newer events.
func TestWebSocket_SweepReadsEachSandboxOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	store := count(w.store)
	other := w.beside(t, store.in, api.Config{Open: true, Organization: w.org, StreamBeat: 5 * time.Millisecond})
	s := other.socket(t, "").ready()
	w.report("a", 1, "one")
	require.Equal(t, "SANDBOX_one", s.next()["event_type"])
	w.report("b", 1, "two")
	require.Equal(t, "SANDBOX_two", s.next()["event_type"])
	s.ready()
	before := store.looks.Load()
	for range 10 {
		s.ready() // which sweeps
	}
	require.Less(t, store.looks.Load()-before, int64(10), "the wake-up may bring one more look")
}

func TestWebSocket_BoundsDatabaseConnections(t *testing.T) {
	t.Parallel()
	const sockets, most = 20, 4
	w := open(t)
	store := count(w.store)
	other := w.beside(t, store.in, api.Config{Open: true, Organization: w.org, PollEvery: time.Millisecond})
	var all []*socket
	for range sockets {
		all = append(all, other.socket(t, "?entity_types=task").ready())
	}
	w.task(newTask())
	for _, s := range all {
		require.Equal(t, "TASK_CREATED", s.next()["event_type"])
	}
	require.LessOrEqual(t, store.most.Load(), int64(most))
}
