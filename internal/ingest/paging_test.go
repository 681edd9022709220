package ingest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
)

// fill gives a sandbox n events, each tenth a heartbeat, as a long life has left them.
func (b *bench) fill(box string, n int) {
	b.t.Helper()
	b.exec(`INSERT INTO sandboxes (id, provider, machine, state, last_sequence)
		VALUES ($1, 'bare', false, 'running', $2)`, box, n)
	b.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data)
		SELECT s.id, n, s.partition_month, CASE WHEN n % 10 = 0 THEN 'agent.heartbeat' ELSE 'agent.tool_use' END, '{"turn": 1}'
		FROM sandboxes s, generate_series(1, $2::integer) AS n WHERE s.id = $1`, box, n)
}

// TestTheLastPageCostsWhatTheFirstDoes counts the rows that PostgreSQL reads for a page of
// 100,000 events, near both of their ends.
func TestTheLastPageCostsWhatTheFirstDoes(t *testing.T) {
	t.Parallel()
	const n, limit = 100_000, 100
	b := setup(t)
	b.fill("long", n)
	pool := single(t, b.pool)
	store := postgres.New(pool, postgres.Config{})
	pages := map[string]func(at int64) error{
		"stream": func(at int64) error { _, err := store.EventsAfter(t.Context(), "long", at, limit); return err },
		"trajectory": func(at int64) error {
			return second(store.Trajectory(t.Context(), ingest.TrajectoryQuery{SandboxID: "long", Cursor: at, Limit: limit}))
		},
		"newer": func(at int64) error {
			return second(store.Trajectory(t.Context(), ingest.TrajectoryQuery{SandboxID: "long", Cursor: at, Limit: limit, Newer: true}))
		},
		"events": func(at int64) error {
			return second(store.Events(t.Context(), ingest.EventQuery{SandboxID: "long", Before: at, Limit: limit}))
		},
		"of a type": func(at int64) error {
			return second(store.Events(t.Context(), ingest.EventQuery{SandboxID: "long", Type: "agent.tool_use", Before: at, Limit: limit}))
		},
		"phase status": func(int64) error { _, _, err := store.PhaseStatus(t.Context(), "long"); return err },
	}
	for name, read := range pages {
		if name == "phase status" {
			b.exec(`ANALYZE sandbox_events`) // pages cost that with statistics and without
		}
		require.NoError(t, read(n/2)) // it counts, once
		for range 6 {                 // until the plan is the generic one
			require.NoError(t, read(n/2))
		}
		for _, at := range []int64{200, n - 200} {
			before := rowsRead(t, pool)
			require.NoError(t, read(at))
			require.LessOrEqual(t, rowsRead(t, pool)-before, int64(3*limit), "%s at %d", name, at)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// single is a pool of one connection, so that its backend's counters tell of every query.
func single(tb testing.TB, pool *pgxpool.Pool) *pgxpool.Pool {
	tb.Helper()
	cfg := pool.Config()
	cfg.MaxConns, cfg.MinConns = 1, 0
	one, err := pgxpool.NewWithConfig(context.Background(), cfg)
	require.NoError(tb, err)
	tb.Cleanup(one.Close)
	return one
}

// rowsRead is how many rows of events have been read in this database.
func rowsRead(tb testing.TB, pool *pgxpool.Pool) int64 {
	tb.Helper()
	_, err := pool.Exec(tb.Context(), `SELECT pg_stat_force_next_flush()`)
	require.NoError(tb, err)
	var n int64
	require.NoError(tb, pool.QueryRow(tb.Context(), `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint
		FROM pg_stat_user_tables WHERE relname LIKE 'sandbox_events%'`).Scan(&n))
	return n
}

// TestPagesGoThroughAllEventsOnce pages through events of any kinds, while more come in.
func TestPagesGoThroughAllEventsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.intake(ingest.IntakeConfig{}, nil)
	names := []string{"heartbeat", "agent.heartbeat", "spec.heartbeat", "agent.tool_use", "agent.message", "x"}
	rapid.Check(t, func(r *rapid.T) {
		box := "b-" + rapid.StringMatching(`[a-z]{20}`).Draw(r, "box")
		types := rapid.SliceOfN(rapid.SampledFrom(names), 0, 40).Draw(r, "types")
		limit := rapid.IntRange(1, 7).Draw(r, "limit")
		only := rapid.SampledFrom(append(names, "")).Draw(r, "filter")
		p := &pager{b: b, i: i, box: box, limit: limit}
		for _, name := range types {
			p.report(name)
		}
		require.Equal(r, p.numbers(len(types), func(name string) bool { return only == "" || name == only }), p.list(only))
		n := len(p.stored)
		require.Equal(r, p.numbers(n, func(name string) bool { return !slices.Contains(names[:3], name) }), p.older())
		require.Equal(r, len(p.stored), p.total())
	})
}

// pager reads a sandbox while it reports.
type pager struct {
	b      *bench
	i      *ingest.Intake
	box    string
	limit  int
	stored []string
}

func (p *pager) report(name string) {
	_, err := p.i.Single(within(p.b.t), p.box, ingest.Event{Type: name}, true)
	require.NoError(p.b.t, err)
	p.stored = append(p.stored, name)
}

// numbers are those of the first n events that are kept, newest first.
func (p *pager) numbers(n int, keep func(string) bool) []int64 {
	out := []int64{}
	for at := n; at > 0; at-- {
		if keep(p.stored[at-1]) {
			out = append(out, int64(at))
		}
	}
	return out
}

func (p *pager) list(only string) []int64 {
	all, q := []int64{}, ingest.EventQuery{SandboxID: p.box, Type: only, Limit: p.limit}
	for {
		page, err := p.b.store.Events(p.b.t.Context(), q)
		require.NoError(p.b.t, err)
		require.LessOrEqual(p.b.t, len(page.Events), p.limit)
		all = appendSequences(all, page.Events)
		if !page.More {
			return all
		}
		q.Before = all[len(all)-1]
		p.report("agent.message") // newer than all that is still to be read
	}
}

func (p *pager) older() []int64 {
	all, q := []int64{}, ingest.TrajectoryQuery{SandboxID: p.box, Limit: p.limit}
	for {
		page, err := p.b.store.Trajectory(p.b.t.Context(), q)
		require.NoError(p.b.t, err)
		all = appendSequences(all, page.Events)
		if !page.More {
			return all
		}
		q.Cursor = all[len(all)-1]
		p.report("heartbeat")
	}
}

func (p *pager) total() int {
	page, err := p.b.store.Events(p.b.t.Context(), ingest.EventQuery{SandboxID: p.box, Limit: 1})
	require.NoError(p.b.t, err)
	return int(page.Total)
}

func appendSequences(all []int64, events []ingest.StoredEvent) []int64 {
	for _, e := range events {
		all = append(all, e.Sequence)
	}
	return all
}

func TestAPageOfAThousandEndsAtItsEdge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fill("edge", 2222) // 2000 and heartbeats
	var seen []int64
	q := ingest.TrajectoryQuery{SandboxID: "edge", Limit: 1000}
	for n := range 2 {
		page, err := b.store.Trajectory(t.Context(), q)
		require.NoError(t, err)
		require.Len(t, page.Events, 1000)
		require.Equal(t, n == 0, page.More, "the second page is the last, though it is full")
		require.Equal(t, int64(222), page.Heartbeats.Count)
		seen = appendSequences(seen, page.Events)
		q.Cursor = seen[len(seen)-1]
	}
	slices.Sort(seen)
	require.Len(t, slices.Compact(seen), 2000)
	page, err := b.store.Trajectory(t.Context(), ingest.TrajectoryQuery{SandboxID: "edge", Limit: 1000, Cursor: 1})
	require.NoError(t, err)
	require.Empty(t, page.Events)
	require.Equal(t, int64(2222), one[int64](b, `SELECT up_to_sequence FROM event_counts`), "what was counted once is not counted again")
}
