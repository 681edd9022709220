package spool_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/spool"
)

func body(i int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"event_type":"t","i":%d}`, i))
}

func open(tb testing.TB, dir string, cfg spool.Config) *spool.Spool {
	tb.Helper()
	s, err := spool.Open(dir, cfg)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func fill(tb testing.TB, s *spool.Spool, from, to int) {
	tb.Helper()
	for i := from; i <= to; i++ {
		n, err := s.Append(body(i), false)
		require.NoError(tb, err)
		require.EqualValues(tb, i, n)
	}
}

func read(tb testing.TB, s *spool.Spool, from int64) []spool.Record {
	tb.Helper()
	got, err := s.Read(from, 1<<20, 1<<30)
	require.NoError(tb, err)
	return got
}

func requireRun(tb testing.TB, got []spool.Record, from, to int) {
	tb.Helper()
	require.Len(tb, got, to-from+1)
	for i, r := range got {
		require.EqualValues(tb, from+i, r.N)
		require.JSONEq(tb, string(body(from+i)), string(r.Body))
	}
}

func TestOpen_ContinuesNumbers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, spool.Config{})
	fill(t, s, 1, 10)
	require.NoError(t, s.Ack(4))
	id, base := s.ID()
	require.NoError(t, s.Close())

	s = open(t, dir, spool.Config{})
	again, _ := s.ID()
	require.Equal(t, id, again)
	require.Zero(t, base)
	require.EqualValues(t, 4, s.Acked())
	fill(t, s, 11, 12)
	requireRun(t, read(t, s, 5), 5, 12)
}

func TestAck_RemovesSegments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, spool.Config{Limit: 64 << 10})
	fill(t, s, 1, 1000)
	before := len(segments(t, dir))
	require.Greater(t, before, 3)
	require.NoError(t, s.Ack(990))
	require.Less(t, len(segments(t, dir)), before)
	requireRun(t, read(t, s, 991), 991, 1000)
	require.NoError(t, s.Ack(1000))
	require.NoError(t, s.Close())
	s = open(t, dir, spool.Config{Limit: 64 << 10})
	fill(t, s, 1001, 1001)
}

func segments(tb testing.TB, dir string) []string {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.events"))
	require.NoError(tb, err)
	return names
}

func TestAppend_FullSpool(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), spool.Config{Limit: 8 << 10})
	n := 0
	for ; ; n++ {
		if _, err := s.Append(body(n+1), false); err != nil {
			require.ErrorIs(t, err, spool.ErrFull)
			break
		}
	}
	got, err := s.Append(body(n+1), true)
	require.NoError(t, err)
	require.EqualValues(t, n+1, got, "a refused event gets no number")
	require.False(t, s.Room(10))
	require.NoError(t, s.Ack(got))
	require.True(t, s.Room(10))
}

func TestOpen_Locked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, spool.Config{})
	_, err := spool.Open(dir, spool.Config{})
	require.ErrorIs(t, err, spool.ErrLocked)
	look, err := spool.Look(dir, spool.Clock())
	require.NoError(t, err)
	require.True(t, look.AgentAlive)
	require.NoError(t, s.Close())
	look, err = spool.Look(dir, spool.Clock())
	require.NoError(t, err)
	require.False(t, look.AgentAlive)
}

func TestLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	look, err := spool.Look(filepath.Join(dir, "none"), spool.Clock())
	require.NoError(t, err)
	require.Equal(t, spool.Probe{NewestAgeMS: -1}, look)

	now := time.Hour
	s := open(t, dir, spool.Config{Clock: func() time.Duration { return now }})
	fill(t, s, 1, 3)
	require.NoError(t, s.Ack(1))
	now += 3 * time.Second
	look, err = spool.Look(dir, now)
	require.NoError(t, err)
	require.Equal(t, spool.Probe{Unsent: 2, NewestAgeMS: 3000, AgentAlive: true}, look)
	look, err = spool.Look(dir, time.Minute)
	require.NoError(t, err)
	require.EqualValues(t, -1, look.NewestAgeMS, "the machine was restarted")
}

// TestLook_Ended checks that agent.shutdown in the spool tells an ended agent that cannot send from a hanging one.
func TestLook_Ended(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, spool.Config{})
	last := int64(0)
	for body, ended := range map[string]bool{
		`{"event_type":"agent.tool_result","event_data":{"text":"agent.shutdown"}}`: false, `{"event_type":"agent.shutdown"}`: true,
	} {
		n, err := s.Append(json.RawMessage(body), false)
		require.NoError(t, err)
		look, err := spool.Look(dir, spool.Clock())
		require.NoError(t, err)
		require.Equal(t, ended, look.Ended, body)
		require.NoError(t, s.Ack(n))
		last = n
	}
	_, err := s.Append(json.RawMessage(`{"event_type":"agent.shutdown"}`), false)
	require.NoError(t, err)
	_, err = s.Append(json.RawMessage(`{"event_type":"agent.events_dropped"}`), false)
	require.NoError(t, err)
	look, err := spool.Look(dir, spool.Clock())
	require.NoError(t, err)
	require.True(t, look.Ended, "whatever is noted after it")
	require.NoError(t, s.Ack(last+2))
	look, err = spool.Look(dir, spool.Clock())
	require.NoError(t, err)
	require.False(t, look.Ended, "the API has heard it")
}

// TestLook_ClockChange checks that a change of the wall clock does not change ages.
func TestLook_ClockChange(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{time.Now().Add(-5 * time.Hour), time.Now().Add(5 * time.Hour)} {
		dir := t.TempDir()
		s := open(t, dir, spool.Config{})
		_, err := s.Append(json.RawMessage(`{"occurred_at":"`+at.UTC().Format(time.RFC3339Nano)+`"}`), false)
		require.NoError(t, err)
		look, err := spool.Look(dir, spool.Clock())
		require.NoError(t, err)
		require.GreaterOrEqual(t, look.NewestAgeMS, int64(0))
		require.Less(t, look.NewestAgeMS, time.Hour.Milliseconds())
	}
}

// TestDropped_AfterDeath checks that the number of dropped events survives a death.
func TestDropped_AfterDeath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, spool.Config{})
	first := time.UnixMilli(1_700_000_000_000)
	for n := range 3 {
		s.Drop(first.Add(time.Duration(n) * time.Minute))
	}
	require.NoError(t, s.Close())
	s = open(t, dir, spool.Config{})
	n, since := s.Dropped()
	require.EqualValues(t, 3, n)
	require.True(t, first.Equal(since))
	s.Told(3)
	require.NoError(t, s.Close())
	n, _ = open(t, dir, spool.Config{}).Dropped()
	require.Zero(t, n)
}

// TestOpen_CutAtEveryByte checks that a spool which is cut off anywhere keeps a prefix and continues its numbers.
func TestOpen_CutAtEveryByte(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	s := open(t, source, spool.Config{})
	fill(t, s, 1, 12)
	require.NoError(t, s.Close())
	seg := segments(t, source)[0]
	whole, err := os.ReadFile(seg)
	require.NoError(t, err)
	state, err := os.ReadFile(filepath.Join(source, "state"))
	require.NoError(t, err)
	for size := range len(whole) + 1 {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "state"), state, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(seg)), whole[:size], 0o600))
		s, err := spool.Open(dir, spool.Config{})
		require.NoError(t, err)
		lines := strings.Count(string(whole[:size]), "\n")
		requireRun(t, read(t, s, 1), 1, lines)
		fill(t, s, lines+1, lines+2)
		requireRun(t, read(t, s, 1), 1, lines+2)
		require.NoError(t, s.Close())
	}
}

// TestOpen_DamagedByte checks that a damaged byte costs the events after it, and that the numbers restart under another
// ID, because the lost numbers may have been sent.
func TestOpen_DamagedByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, spool.Config{})
	fill(t, s, 1, 12)
	require.NoError(t, s.Ack(2))
	id, _ := s.ID()
	require.NoError(t, s.Close())
	seg := segments(t, dir)[0]
	whole, err := os.ReadFile(seg)
	require.NoError(t, err)
	whole[len(whole)/2] ^= 0x20
	require.NoError(t, os.WriteFile(seg, whole, 0o600))

	s = open(t, dir, spool.Config{})
	now, base := s.ID()
	require.NotEqual(t, id, now)
	require.EqualValues(t, 2, base)
	require.Positive(t, s.Damaged())
	require.EqualValues(t, 12, s.Last()+s.Damaged())
	requireRun(t, read(t, s, 3), 3, int(s.Last()))
}

func TestOpen_MissingStateFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, spool.Config{})
	fill(t, s, 1, 5)
	id, _ := s.ID()
	require.NoError(t, s.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "state"), []byte("rubbish"), 0o600))
	s = open(t, dir, spool.Config{})
	now, _ := s.ID()
	require.NotEqual(t, id, now)
	requireRun(t, read(t, s, s.Acked()+1), 1, 5)
}

// TestRandomLife checks that random appends, acknowledgements, reads and restarts never lose or repeat a number.
func TestRandomLife(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		dir := t.TempDir()
		cfg := spool.Config{Limit: 32 << 10}
		s := open(t, dir, cfg)
		last := 0
		for range 400 {
			switch rng.IntN(10) {
			case 0:
				require.NoError(t, s.Close())
				s = open(t, dir, cfg)
				require.EqualValues(t, last, s.Last())
			case 1:
				require.NoError(t, s.Ack(s.Acked()+rng.Int64N(s.Last()-s.Acked()+1)))
			case 2:
				from := s.Acked() + 1
				requireRun(t, read(t, s, from), int(from), last)
			default:
				if _, err := s.Append(body(last+1), false); err == nil {
					last++
				}
			}
		}
	}
}

func FuzzRecovery(f *testing.F) {
	dir := f.TempDir()
	s, err := spool.Open(dir, spool.Config{})
	require.NoError(f, err)
	for i := 1; i <= 3; i++ {
		_, err := s.Append(body(i), false)
		require.NoError(f, err)
	}
	require.NoError(f, s.Close())
	names, err := filepath.Glob(filepath.Join(dir, "*.events"))
	require.NoError(f, err)
	whole, err := os.ReadFile(names[0])
	require.NoError(f, err)
	state, err := os.ReadFile(filepath.Join(dir, "state"))
	require.NoError(f, err)
	f.Add(whole, state)
	f.Add(whole[:20], []byte{})
	f.Fuzz(func(t *testing.T, seg, state []byte) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(names[0])), seg, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "state"), state, 0o600))
		s, err := spool.Open(dir, spool.Config{})
		require.NoError(t, err)
		defer func() { _ = s.Close() }()
		n, err := s.Append(body(1), true)
		require.NoError(t, err)
		got, err := s.Read(s.Acked()+1, 1<<20, 1<<30)
		require.NoError(t, err)
		require.NotEmpty(t, got)
		require.Equal(t, n, got[len(got)-1].N)
		for i, r := range got {
			require.Equal(t, s.Acked()+1+int64(i), r.N)
		}
	})
}
