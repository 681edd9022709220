package sandboxlog_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandboxlog"
	"github.com/omoi-dev/omoi/internal/task"
)

// store keeps parts in memory; one log is wanted.
type store struct {
	sandboxlog.Store

	parts  []sandboxlog.Part
	kept   bool
	looked int
	busy   int // how often another is faster
}

func (s *store) WantedLogs(context.Context, string, []string) ([]sandboxlog.Wanted, error) {
	one := sandboxlog.Wanted{SandboxID: "s", TaskID: "t", Provider: "fake"}
	if n := len(s.parts); n > 0 {
		one.Read = s.parts[n-1].Last
	}
	return []sandboxlog.Wanted{one}, nil
}

func (s *store) AddLog(_ context.Context, _ string, parts []sandboxlog.Part, _ int64) error {
	s.parts = append(s.parts, parts...)
	return nil
}

func (s *store) LogLooked(context.Context, string) error { s.looked++; return nil }

func (s *store) LogRead(context.Context, string) (int64, error) {
	if n := len(s.parts); n > 0 {
		return s.parts[n-1].Last, nil
	}
	return 0, nil
}

func (s *store) KeepLog(_ context.Context, _ string, parts []sandboxlog.Part, _ int64) error {
	if s.busy > 0 {
		s.busy--
		return task.Errorf(task.CodeConflict, "another was faster")
	}
	s.parts, s.kept = append(s.parts, parts...), true
	return nil
}

func (s *store) text() string {
	var all strings.Builder
	for _, p := range s.parts {
		all.Write(p.Text)
	}
	return all.String()
}

// printer is a provider that has a log and nothing else.
type printer struct {
	sandbox.Provider

	log    string
	config string // what its agent was told; empty: it is not there
	err    error
}

func (p *printer) ReadFile(_ context.Context, _ sandbox.Labels, path string) (io.ReadCloser, error) {
	if p.config == "" || path != agentconfig.ConfigPath {
		return nil, task.Errorf(task.CodeNotFound, "there is no %s", path)
	}
	return io.NopCloser(strings.NewReader(p.config)), nil
}

func (*printer) Name() string                       { return "fake" }
func (*printer) Capabilities() sandbox.Capabilities { return sandbox.Capabilities{Exec: true} }
func (p *printer) Log(_ context.Context, _ sandbox.Labels, offset int64) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(p.log[min(offset, int64(len(p.log))):])), p.err
}

func watch(keep int64) (*sandboxlog.Watcher, *store, *printer) {
	s, p := &store{}, &printer{}
	hide := func(_ context.Context, _ string, given map[string]string) (func(string) string, error) {
		return func(text string) string {
			for _, secret := range given {
				text = strings.ReplaceAll(text, secret, "[given]")
			}
			return strings.ReplaceAll(text, "hunter2", "[removed]")
		}, nil
	}
	return sandboxlog.New(sandboxlog.Config{Keep: keep, Hide: hide}, s, []sandbox.Provider{p}, slog.New(slog.DiscardHandler)), s, p
}

// A secret is hidden also if it is printed in two goes.
func TestALogIsBroughtByWholeLines(t *testing.T) {
	t.Parallel()
	w, s, p := watch(1000)
	for _, log := range []string{"", "one\nthe word is hun", "one\nthe word is hunter2\n", "one\nthe word is hunter2\nthree\nrest"} {
		p.log = log
		w.Round(t.Context())
	}
	require.Equal(t, "one\nthe word is [removed]\nthree\n", s.text())
	require.Equal(t, 4, s.looked)
	require.Len(t, s.parts, 3)
	for n := 1; n < len(s.parts); n++ {
		require.Equal(t, s.parts[n-1].Last, s.parts[n].First, "no byte is missing, none comes twice")
	}
	s.busy = 2
	require.NoError(t, w.Keep(t.Context(), p, sandbox.Labels{}))
	require.True(t, s.kept)
	require.Equal(t, "one\nthe word is [removed]\nthree\nrest", s.text(), "at the end unfinished lines count")
}

func TestOfALongLogTheNewestLinesAreKept(t *testing.T) {
	t.Parallel()
	w, s, p := watch(20)
	p.log = strings.Repeat("0123456789\n", 100_000) + "last\n"
	require.NoError(t, w.Keep(t.Context(), p, sandbox.Labels{}))
	require.Equal(t, "0123456789\nlast\n", s.text())
	require.EqualValues(t, len(p.log), s.parts[0].Last)
}

func TestLongLogsComeInParts(t *testing.T) {
	t.Parallel()
	w, s, p := watch(4 << 20)
	p.log = strings.Repeat(strings.Repeat("x", 99)+"\n", 10_000) + strings.Repeat("y", 1<<20)
	require.NoError(t, w.Keep(t.Context(), p, sandbox.Labels{}))
	require.Equal(t, p.log, s.text())
	require.Greater(t, len(s.parts), 4)
	for _, part := range s.parts {
		require.LessOrEqual(t, len(part.Text), 256<<10)
	}
}

// A sandbox that is gone has no log any more: what was seen of it is its end. One that cannot
// be asked has not ended.
func TestTheEndOfALogThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w, s, p := watch(1000)
	p.log = "seen\n"
	w.Round(t.Context())
	p.err = errors.New("the engine is away")
	require.Error(t, w.Keep(t.Context(), p, sandbox.Labels{}))
	require.False(t, s.kept)
	w.Round(t.Context())
	require.Equal(t, 1, s.looked)
	p.err = task.Errorf(task.CodeNotFound, "gone")
	require.NoError(t, w.Keep(t.Context(), p, sandbox.Labels{}))
	require.True(t, s.kept)
	require.Equal(t, "seen\n", s.text())
}

// A credential that was replaced while its sandbox runs is known to the sandbox alone.
func TestWhatASandboxWasGivenIsHidden(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		`{"token":"t","env":{"KEY":"replaced since","LONG":"` + strings.Repeat("x", 20_000) + `"}}`: "[removed] [given] xxx\n",
		`nonsense`: "[removed] replaced since xxx\n",
		"":         "[removed] replaced since xxx\n",
	} {
		w, s, p := watch(1000)
		p.log, p.config = "hunter2 replaced since xxx\n", config
		w.Round(t.Context())
		require.Equal(t, want, s.text())
		w, s, p = watch(1000)
		p.log, p.config = "hunter2 replaced since xxx\n", config
		require.NoError(t, w.Keep(t.Context(), p, sandbox.Labels{SandboxID: "s", TaskID: "t"}))
		require.Equal(t, want, s.text())
	}
}
