package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// unready is a bench whose provider nobody has configured.
func unready(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.provider.unready = task.Errorf(task.CodeForbidden, "API key not configured")
	return b
}

func TestEnsureSandbox_ProviderWithoutKeyFailsTheTask(t *testing.T) {
	t.Parallel()
	b := unready(t)
	_, err := do[contract.SpawnedSandbox](b, b.activities().EnsureSandbox, b.ref())
	app, _ := refused(t, err)
	require.True(t, app.NonRetryable())
	require.Equal(t, string(task.ClassCredentials), app.Type())
	require.Contains(t, app.Message(), "API key not configured")
	require.Equal(t, task.SandboxIntended, b.store.rows[boxID].State, "nothing may exist")
}

func TestLoadSandbox_NeverCreatedNeedsNoProvider(t *testing.T) {
	t.Parallel()
	b := unready(t)
	loaded, err := do[contract.LoadedSandbox](b, b.activities().LoadSandbox, b.ref())
	require.NoError(t, err)
	require.True(t, loaded.Verified)
	require.Equal(t, task.SandboxGone, b.store.rows[boxID].State)
	_, err = do[contract.SpawnedSandbox](b, b.activities().EnsureSandbox, b.ref())
	require.Error(t, err, "nor is it made any more")

	row := b.store.rows[boxID]
	row.State = task.SandboxCreating
	b.store.rows[boxID] = row
	loaded, err = do[contract.LoadedSandbox](b, b.activities().LoadSandbox, b.ref())
	require.NoError(t, err)
	require.False(t, loaded.Verified, "one that may exist is looked for")
}
