package task_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestReceiptSumsUp(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := task.NewReceipt(task.Task{ID: "t"}, []task.Sandbox{
		{Provider: "daytona", VerifiedAt: &now, SecondsAlive: 10, CostUSD: 1, Cost: &task.Money{Amount: 2, Currency: "USD"}},
		{Provider: "daytona", SecondsAlive: 5, Cost: &task.Money{Amount: 1, Currency: "USD"}},
		{Provider: "docker", VerifiedAt: &now, SecondsAlive: 1, Cost: &task.Money{Amount: 3, Currency: "EUR"}},
		{Provider: "local", VerifiedAt: &now, SecondsAlive: 1},
		{Provider: "daytona", VerifiedAt: &now}, // never made
		{Provider: task.ProviderExternal, SecondsAlive: 3},
	}, nil)
	require.False(t, r.Verified)
	require.Equal(t, 1, r.Unverified, "what is no machine of ours has nothing to verify")
	require.Equal(t, 1, r.Unpriced)
	require.InDelta(t, 20, r.SecondsAlive, 1e-9)
	require.InDelta(t, 1, r.CostUSD, 1e-9)
	require.Equal(t, []task.Money{{Amount: 3, Currency: "USD"}, {Amount: 3, Currency: "EUR"}}, r.Costs)
}

// Where the agents ran elsewhere nobody has seen anything to be gone.
func TestReceiptOfWhatIsElsewhere(t *testing.T) {
	t.Parallel()
	r := task.NewReceipt(task.Task{ID: "t"}, []task.Sandbox{{Provider: task.ProviderExternal}, {Provider: task.ProviderBare}}, nil)
	require.False(t, r.Verified)
	require.Zero(t, r.Unverified)
}

// A task that never had a sandbox has left none.
func TestReceiptOfNothing(t *testing.T) {
	t.Parallel()
	r := task.NewReceipt(task.Task{ID: "t"}, nil, nil)
	require.True(t, r.Verified)
	require.Empty(t, r.Costs)
}
