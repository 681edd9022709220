package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// listed has the provider list a sandbox that serves no attempt, and that the ledger has as verified gone.
func (b *bench) listed() {
	b.Helper()
	b.running()
	row, now := b.store.rows[boxID], time.Now()
	row.State, row.GoneAt, row.VerifiedAt = task.SandboxGone, &now, &now
	b.store.rows[boxID], b.store.unowned = row, orphans(boxID)
}

func (b *bench) orphans() []contract.Orphan {
	b.Helper()
	out, err := do[contract.Orphans](b, b.activities().FindOrphans, contract.FindOrphansInput{Provider: task.ProviderLocal})
	require.NoError(b, err)
	return out.Orphans
}

// A sandbox that exists again after its deletion was verified is recorded and cleaned up, with an alert.
func TestFindOrphans_ReopensReappearedSandboxes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.listed()
	require.Equal(t, orphans(boxID), b.orphans())
	require.Equal(t, []string{boxID}, b.store.back)
	require.Nil(t, b.store.rows[boxID].VerifiedAt)
	require.Contains(t, b.store.alerts["seen again"], "deletion was verified: 1, for example "+boxID)
	require.Equal(t, orphans(boxID), b.orphans())
	require.Len(t, b.store.back, 1, "once")

	b.store.back = nil // verified
	_, err := do[contract.Orphans](b, b.activities().FindOrphans, contract.FindOrphansInput{})
	require.NoError(t, err)
	require.Empty(t, b.store.alerts["seen again"], "taken back")
}

// A list may be late: only what the provider has when it is asked for it by name is there.
func TestFindOrphans_OutdatedListReopensNothing(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]func(*bench){
		"gone":           func(b *bench) { b.provider.lateList = true },
		"cannot be told": func(b *bench) { b.provider.loseAnswerOf("inspect") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.listed()
			breaks(b)
			require.Empty(t, b.orphans())
			require.Empty(t, b.store.back)
			require.NotNil(t, b.store.rows[boxID].VerifiedAt)
		})
	}
}
