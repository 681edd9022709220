package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	tabletest "github.com/omoi-dev/omoi/internal/testkit/tables"
)

// The test also adds a provider to the table.
//
//nolint:paralleltest // it changes the tables
func TestBeginAttempt_WritesCapabilities(t *testing.T) {
	tabletest.AddDummy(t)
	w := newWorld(t, postgres.Config{})
	queues := map[bool]map[bool]string{
		true: {true: contract.QueueHost("host"), false: contract.QueueSandboxes}, false: {false: contract.QueueTasks},
	}
	for _, p := range task.Providers {
		w.hostSeen("host", task.ProviderNames(), 0)
		a := w.task(w.project(5), "provider = '"+p.Name+"'")
		w.load(a)
		live := w.begin(a, 1)
		require.Equal(t, queues[p.Machine][p.HostBound], live.Queue, p.Name)
		require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM sandboxes WHERE id = $1 AND host_bound = $2 AND machine = $3`, live.SandboxID, p.HostBound, p.Machine))
	}
	targets, err := w.store.Targets(t.Context())
	require.NoError(t, err)
	require.Contains(t, targets, contract.ReaperTarget{Provider: tabletest.Dummy, Queue: contract.QueueSandboxes})
}
