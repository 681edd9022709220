package ingest_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
)

// heavy gives a sandbox n events of nearly the longest row, each tenth a heartbeat.
func (b *bench) heavy(box string, n int) {
	b.t.Helper()
	b.fill(box, n)
	b.exec(`UPDATE sandbox_events SET event_data = jsonb_build_object('text', repeat('x', 60000)) WHERE sandbox_id = $1`, box)
}

func TestAPageEndsWhereItsEventsAreLong(t *testing.T) {
	t.Parallel()
	const n = 333
	b := setup(t)
	b.heavy("heavy", n)
	want := []int64{}
	for at := int64(n); at > 0; at-- {
		if at%10 != 0 {
			want = append(want, at)
		}
	}
	older, newer := b.trajectories("heavy", false), b.trajectories("heavy", true)
	slices.Reverse(newer)
	require.Equal(t, want, older, "none is lost at an edge, none comes twice")
	require.Equal(t, want, newer)
	require.Equal(t, want, b.listed(ingest.EventQuery{SandboxID: "heavy", Type: "agent.tool_use", Limit: 500}))
	require.Equal(t, want[5:], b.listed(ingest.EventQuery{SandboxID: "heavy", Type: "agent.tool_use", Limit: 500, Offset: 5}))
	b.exec(`UPDATE sandbox_events SET event_data = jsonb_build_object('text', repeat('x', 9000000)) WHERE sandbox_id = 'heavy' AND sequence > 331`)
	page, err := b.store.Trajectory(t.Context(), ingest.TrajectoryQuery{SandboxID: "heavy", Limit: 1000})
	require.NoError(t, err)
	require.Len(t, page.Events, 1, "one that is too long is a page of its own")
	require.True(t, page.More)
}

func TestAPageOfATaskEndsWhereItsEventsAreLong(t *testing.T) {
	t.Parallel()
	const each = 100
	b := setup(t)
	taskID := b.task()
	for number := 1; number <= 2; number++ {
		box := b.attempt(taskID, number)
		b.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data)
			SELECT s.id, n, s.partition_month, 'agent.message', jsonb_build_object('text', repeat('x', 60000))
			FROM sandboxes s, generate_series(1, $2::integer) AS n WHERE s.id = $1`, box, each)
		b.exec(`UPDATE sandboxes SET last_sequence = $2 WHERE id = $1`, box, each)
	}
	var seen []ingest.Cursor
	for at, more := (ingest.Cursor{}), true; more; {
		page, err := b.store.TaskEventsAfter(t.Context(), taskID, at, 1000)
		require.NoError(t, err)
		b.fits(page.Events)
		for _, e := range page.Events {
			seen = append(seen, ingest.Cursor{Attempt: e.Attempt, Sequence: e.Sequence})
		}
		at, more = page.Next(), page.More
	}
	var want []ingest.Cursor
	for n := range 2 * each {
		want = append(want, ingest.Cursor{Attempt: 1 + n/each, Sequence: int64(1 + n%each)})
	}
	require.Equal(t, want, seen)
}

// trajectories pages through all, as they come.
func (b *bench) trajectories(box string, newer bool) (all []int64) {
	q := ingest.TrajectoryQuery{SandboxID: box, Limit: 1000, Newer: newer}
	for {
		page, err := b.store.Trajectory(b.t.Context(), q)
		require.NoError(b.t, err)
		b.fits(page.Events)
		if newer {
			slices.Reverse(page.Events)
		}
		all = appendSequences(all, page.Events)
		if !page.More {
			return all
		}
		q.Cursor = all[len(all)-1]
	}
}

func (b *bench) listed(q ingest.EventQuery) (all []int64) {
	for {
		page, err := b.store.Events(b.t.Context(), q)
		require.NoError(b.t, err)
		b.fits(page.Events)
		all = appendSequences(all, page.Events)
		if !page.More {
			return all
		}
		q.Before, q.Offset = all[len(all)-1], 0
	}
}

func (b *bench) fits(events []ingest.StoredEvent) {
	size := 0
	for _, e := range events {
		size += len(e.Data)
	}
	require.LessOrEqual(b.t, size, ingest.MaxPage)
	require.Positive(b.t, size)
}
