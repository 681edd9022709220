package activities_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

func (s *fakeStore) RanOut(_ context.Context, _ string, before int) (int, error) {
	return min(s.ranOut, before-1), s.ranOutIs
}

// An attempt that ran out of memory or disk is not tried again in a sandbox of the same size.
func TestEnsureSandbox_GrowsAfterOutOfMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		attempt, ranOut int
		configured      sandbox.Limits
		memory, disk    int64
	}{
		{1, 0, sandbox.Limits{MemoryBytes: sandbox.GiB}, sandbox.GiB, 0},
		{3, 0, sandbox.Limits{}, 0, 0},
		{2, 1, sandbox.Limits{MemoryBytes: sandbox.GiB, DiskBytes: 2 * sandbox.GB}, 2 * sandbox.GiB, 4 * sandbox.GB},
		{3, 2, sandbox.Limits{MemoryBytes: sandbox.GiB, DiskBytes: 2 * sandbox.GB}, 4 * sandbox.GiB, 8 * sandbox.GB},
		{2, 1, sandbox.Limits{}, 8 * sandbox.GiB, 10 * sandbox.GB},
		{9, 8, sandbox.Limits{}, 8 * sandbox.GiB, 10 * sandbox.GB},
	} {
		b := newBench(t)
		b.cfg.Limits, b.store.ranOut = c.configured, c.ranOut
		begun(b, c.attempt)
		made, err := do[contract.SpawnedSandbox](b, b.activities().EnsureSandbox, b.ref())
		require.NoError(t, err)
		require.NoError(t, act(b, b.activities().StartAgent, b.start()))
		got := b.provider.specs[0].Limits
		require.Equal(t, []int64{c.memory, c.disk}, []int64{got.MemoryBytes, got.DiskBytes})
		require.Equal(t, c.ranOut > 0, slices.Contains(made.Isolation, "next size up asked for"))
		for _, spec := range b.provider.specs {
			require.Equal(t, got, spec.Limits, "adopted as it was made")
		}
	}
	b := newBench(t)
	begun(b, 2)
	b.store.ranOutIs = task.Errorf(task.CodeUnavailable, "away")
	require.Error(t, act(b, b.activities().EnsureSandbox, b.ref()))
	require.Empty(t, b.provider.specs, "unknown is no reason to make a small one")
}

// snapshots are a provider whose sandboxes have the size of what they are made from.
type snapshots struct{ *fakeProvider }

func (p snapshots) Ensure(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	made, err := p.fakeProvider.Ensure(ctx, spec)
	made.FixedSize = true
	return made, err
}

func TestEnsureSandbox_ReportsThatItCannotGrow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	begun(b, 2)
	b.store.ranOut = 1
	b.made = activities.New(b.cfg, activities.Deps{Tasks: b.store, Ledger: b.store, Texts: b.store, Fleet: b.store, Reconciler: b.store, Providers: providers{task.ProviderLocal: snapshots{b.provider}}})
	made, err := do[contract.SpawnedSandbox](b, b.activities().EnsureSandbox, b.ref())
	require.NoError(t, err)
	require.Contains(t, made.Isolation, "no next size up: its snapshot has a size of its own")
	require.NotContains(t, made.Isolation, "next size up asked for")
}

// A provider that has said until when it makes nothing is waited for without a slot.
func TestEnsureSandbox_RateLimitIsNoFailure(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.down = limit(time.Hour)
	app, details := refused(t, act(b, b.activities().EnsureSandbox, b.ref()))
	require.Equal(t, string(task.ClassProviderLimit), app.Type())
	require.Equal(t, time.Hour, app.NextRetryDelay())
	require.WithinDuration(t, time.Now().Add(time.Hour), details.ResetAt, time.Minute)
	b.provider.down = task.Errorf(task.CodeExhausted, "no quota")
	app, _ = refused(t, act(b, b.activities().EnsureSandbox, b.ref()))
	require.Equal(t, string(task.ClassInfrastructure), app.Type(), "nobody has said until when")
}

// begun makes the sandbox that of an attempt.
func begun(b *bench, attempt int) {
	row := b.store.rows[boxID]
	row.Attempt = attempt
	b.store.rows[boxID] = row
}
