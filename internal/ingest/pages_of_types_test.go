package ingest_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/omoi-dev/omoi/internal/ingest"
)

// fillOf gives a sandbox events of these types.
func (b *bench) fillOf(box string, types []string) {
	b.t.Helper()
	b.exec(`INSERT INTO sandboxes (id, provider, machine, state, last_sequence)
		VALUES ($1, 'bare', false, 'running', 0)`, box)
	b.addOf(box, types)
}

func (b *bench) addOf(box string, types []string) {
	b.t.Helper()
	b.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data)
		SELECT s.id, s.last_sequence + t.n, s.partition_month, t.name, jsonb_build_object('file_path', 'a') FROM sandboxes s, unnest($2::text[]) WITH ORDINALITY AS t(name, n)
		WHERE s.id = $1`, box, types)
	b.exec(`UPDATE sandboxes SET last_sequence = last_sequence + $2 WHERE id = $1`, box, len(types))
}

// TestPagesOfTypesAreComplete compares pages with what they should show, over kept counts and events behind them, with whatever runs of types, while more events come.
func TestPagesOfTypesAreComplete(t *testing.T) {
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
