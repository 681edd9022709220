package ingest_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
)

// fillOf gives a sandbox events of these types.
func (b *bench) fillOf(box string, types []string) {
	b.t.Helper()
	b.exec(`INSERT INTO sandboxes (id, provider, state, last_sequence) VALUES ($1, 'bare', 'running', 0)`, box)
	b.addOf(box, types)
}

func (b *bench) addOf(box string, types []string) {
	b.t.Helper()
	b.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data)
		SELECT s.id, s.last_sequence + t.n, s.partition_month, t.name, jsonb_build_object('file_path', 'a') FROM sandboxes s, unnest($2::text[]) WITH ORDINALITY AS t(name, n)
		WHERE s.id = $1`, box, types)
	b.exec(`UPDATE sandboxes SET last_sequence = last_sequence + $2 WHERE id = $1`, box, len(types))
}

// TestAPageCostsNothingForWhatItPassesOver counts the rows that are read where the events that
// are asked for stand before and behind 100,000 heartbeats, and where an offset passes over thousands.
func TestAPageCostsNothingForWhatItPassesOver(t *testing.T) {
	t.Parallel()
	const n, m, limit = 100_000, 30_000, 50
	b := setup(t)
	some := func(name string, n int) []string { return slices.Repeat([]string{name}, n) }
	b.fillOf("beats", slices.Concat(some("agent.file_edited", 60), some("agent.heartbeat", n), some("agent.file_edited", 60)))
	b.fillOf("mixed", slices.Repeat([]string{"agent.message", "agent.tool_use"}, m/2))
	pool := single(t, b.pool)
	store := postgres.New(pool, postgres.Config{})
	trajectory := func(cursor int64, newer bool) int {
		page, err := store.Trajectory(t.Context(), ingest.TrajectoryQuery{SandboxID: "beats", Cursor: cursor, Newer: newer, Limit: limit})
		require.NoError(t, err)
		return len(page.Events)
	}
	list := func(q ingest.EventQuery) int {
		q.Limit = limit
		page, err := store.Events(t.Context(), q)
		require.NoError(t, err)
		return len(page.Events)
	}
	pages := map[string]func() int{
		"older": func() int { return trajectory(n+80, false) },
		"newer": func() int { return trajectory(40, true) },
		"filter": func() int {
			return list(ingest.EventQuery{SandboxID: "beats", Type: "agent.file_edited", Before: n + 80})
		},
		"offset": func() int {
			return list(ingest.EventQuery{SandboxID: "mixed", Type: "agent.message", Offset: m/2 - 100})
		},
		"both": func() int {
			return list(ingest.EventQuery{SandboxID: "mixed", Type: "agent.message", Before: m - 2500, Offset: m/2 - 2000})
		},
		"files": func() int {
			files, err := store.ChangedFiles(t.Context(), "beats", 40, limit)
			require.NoError(t, err)
			return len(files.Files[0].Edits)
		},
	}
	for name, read := range pages {
		for range 7 { // it counts once; until the plan is the generic one
			require.Equal(t, limit, read(), name)
		}
		before := rowsRead(t, pool)
		require.Equal(t, limit, read())
		require.LessOrEqual(t, rowsRead(t, pool)-before, int64(5*limit), name)
	}
}

// TestPlacesAreThoseOfTheEvents compares pages with what they should show, over several blocks
// and a tail, with whatever runs of types, while more events come.
func TestPlacesAreThoseOfTheEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	names := []string{"heartbeat", "agent.heartbeat", "spec.heartbeat", "agent.tool_use", "agent.file_edited", "x"}
	rapid.Check(t, func(r *rapid.T) {
		p := &placed{b: b, r: r, box: "p-" + rapid.StringMatching(`[a-z]{20}`).Draw(r, "box")}
		b.fillOf(p.box, nil)
		for range rapid.IntRange(1, 3).Draw(r, "looks") {
			for range rapid.IntRange(1, 4).Draw(r, "runs") {
				mix := rapid.SliceOfN(rapid.SampledFrom(names), 1, 4).Draw(r, "mix")
				p.add(slices.Repeat(mix, rapid.IntRange(1, 700).Draw(r, "times")/len(mix)+1))
			}
			p.list(rapid.SampledFrom(names).Draw(r, "filter"))
			p.trajectory()
			p.files()
		}
	})
}

type placed struct {
	b     *bench
	r     *rapid.T
	box   string
	types []string
}

func (p *placed) add(types []string) {
	p.b.addOf(p.box, types)
	p.types = append(p.types, types...)
}

// numbers are those of the events that are kept, oldest first.
func (p *placed) numbers(keep func(at int64, name string) bool) []int64 {
	all := []int64{}
	for n, name := range p.types {
		if at := int64(n + 1); keep(at, name) {
			all = append(all, at)
		}
	}
	return all
}

func (p *placed) number(label string) int {
	return rapid.IntRange(0, len(p.types)+2).Draw(p.r, label)
}

func (p *placed) list(only string) {
	q := ingest.EventQuery{SandboxID: p.box, Type: only, Limit: rapid.IntRange(1, 150).Draw(p.r, "limit")}
	q.Before, q.Offset = int64(p.number("before")), p.number("offset")/rapid.SampledFrom([]int{1, 10, 10_000}).Draw(p.r, "part")
	want := p.numbers(func(at int64, name string) bool { return name == only && (q.Before == 0 || at < q.Before) })
	slices.Reverse(want)
	want = want[min(q.Offset, len(want)):]
	page, err := p.b.store.Events(p.b.t.Context(), q)
	require.NoError(p.r, err)
	require.Equal(p.r, want[:min(q.Limit, len(want))], appendSequences([]int64{}, page.Events))
	require.Equal(p.r, len(want) > q.Limit, page.More)
	require.Len(p.r, p.numbers(func(_ int64, name string) bool { return name == only }), int(page.Total))
}

func (p *placed) trajectory() {
	q := ingest.TrajectoryQuery{SandboxID: p.box, Limit: rapid.IntRange(1, 150).Draw(p.r, "limit"), Cursor: int64(p.number("cursor"))}
	q.Newer = rapid.Bool().Draw(p.r, "newer")
	beat := func(name string) bool {
		return name == "heartbeat" || name == "agent.heartbeat" || name == "spec.heartbeat"
	}
	want := p.numbers(func(at int64, name string) bool {
		return !beat(name) && (q.Newer && at > q.Cursor || !q.Newer && (q.Cursor == 0 || at < q.Cursor))
	})
	if !q.Newer {
		slices.Reverse(want)
	}
	more := len(want) > q.Limit
	want = want[:min(q.Limit, len(want))]
	if q.Newer {
		slices.Reverse(want)
	}
	page, err := p.b.store.Trajectory(p.b.t.Context(), q)
	require.NoError(p.r, err)
	require.Equal(p.r, want, appendSequences([]int64{}, page.Events))
	require.Equal(p.r, more, page.More)
	require.Len(p.r, p.numbers(func(_ int64, name string) bool { return beat(name) }), int(page.Heartbeats.Count))
}

func (p *placed) files() {
	limit, after := rapid.IntRange(1, 150).Draw(p.r, "limit"), int64(p.number("after"))
	want := p.numbers(func(at int64, name string) bool { return name == "agent.file_edited" && at > after })
	files, err := p.b.store.ChangedFiles(p.b.t.Context(), p.box, after, limit)
	require.NoError(p.r, err)
	got := []int64{}
	for _, f := range files.Files {
		for _, e := range f.Edits {
			got = append(got, e.Sequence)
		}
	}
	require.Equal(p.r, want[:min(limit, len(want))], got)
	require.Equal(p.r, len(want) > limit, files.Next != nil)
}
