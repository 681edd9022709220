package checkpoints_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

func TestKeep_SaysOnceWhyItFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	k := r.open()
	r.keep(k)
	fails := func(status int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r.server.CheckpointFaultOf = func(int) agenttest.Fault { return agenttest.Fault{Status: status} }
		require.Error(t, k.Keep(ctx))
		r.server.CheckpointFaultOf = nil
	}
	r.put(r.work, "a.txt", "a\n")
	fails(422)
	fails(409)
	require.Equal(t, []any{"rejected"}, r.agent.failures, "once")
	r.keep(k)
	r.put(r.work, "a.txt", "b\n")
	fails(422)
	require.Equal(t, []any{"rejected", "rejected"}, r.agent.failures, "again after a success")
}

func TestKeep_SaysThatTheStoreRefusesForLong(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	k := r.open()
	r.keep(k)
	r.put(r.work, "a.txt", "a\n")
	ctx, expire := context.WithCancel(t.Context())
	requests := 0
	r.server.CheckpointFaultOf = func(int) agenttest.Fault {
		if requests++; requests > 1 {
			expire()
		}
		return agenttest.Fault{Status: 503}
	}
	require.ErrorIs(t, k.Keep(lateContext{ctx}), context.DeadlineExceeded)
	require.Equal(t, []any{"rejected"}, r.agent.failures)
}

// lateContext is a context whose end is that of its time.
type lateContext struct{ context.Context } //nolint:containedctx // it is one

func (l lateContext) Err() error {
	if l.Context.Err() == nil {
		return nil
	}
	return context.DeadlineExceeded
}

func TestKeep_SaysThatTheRepositoryIsBroken(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	k := r.open()
	r.keep(k)
	head := filepath.Join(r.dir, "checkpoint.git", "HEAD")
	require.NoError(t, os.Rename(head, head+".gone"))
	for n := range 3 {
		r.put(r.work, "a.txt", string(rune('a'+n)))
		require.Error(t, k.Keep(t.Context()))
	}
	require.Equal(t, []any{"unreadable"}, r.agent.failures)
	require.NoError(t, os.Rename(head+".gone", head))
	r.keep(k)
	require.Len(t, r.server.Checkpoints(), 2)
}
