package acp

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
)

// TestLook_SkippedOnce checks that a skipped path is reported once, also if a stop was in between.
func TestLook_SkippedOnce(t *testing.T) {
	t.Parallel()
	report := &events{}
	env := agent.Env{Report: report, Doing: &reporter.Activity{}, Log: slog.New(slog.DiscardHandler)}
	r := newRecorder(t.Context(), env, Dialect{}, &place{}, continuous.Limits{})
	r.changes.prepare = func() (lookFunc, context.CancelFunc) {
		return func() ([]diff.Change, int, []string) { return nil, 0, []string{"a.bin is too large"} }, func() {}
	}
	look := func(id string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.look(id)
	}
	look("1")
	r.changes.hurry()
	look("2")
	r.changes.calm()
	look("3")
	require.Equal(t, []string{`agent.files_unreported {"count":0,"skipped":["a.bin is too large"],"tool_use_id":"1"}`}, report.all)
}
