package receipt_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestReceiptSumsUp(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := receipt.New(task.Task{ID: "t"}, []task.Sandbox{
		{Provider: "daytona", VerifiedAt: &now, SecondsAlive: 10, CostUSD: new(1.0), Cost: &task.Money{Amount: 2, Currency: "USD"}},
		{Provider: "daytona", SecondsAlive: 5, Cost: &task.Money{Amount: 1, Currency: "USD"}},
		{Provider: "docker", VerifiedAt: &now, SecondsAlive: 1, Cost: &task.Money{Amount: 3, Currency: "EUR"}},
		{Provider: "local", VerifiedAt: &now, SecondsAlive: 1},
		{Provider: "daytona", VerifiedAt: &now}, // never made
		{Provider: task.ProviderExternal, SecondsAlive: 3},
	}, nil)
	require.False(t, r.Verified)
	require.Equal(t, 1, r.Unverified, "what is no machine of ours has nothing to verify")
	require.Equal(t, 1, r.SandboxesWithoutPrice)
	require.InDelta(t, 20, r.SecondsAlive, 1e-9)
	require.InDelta(t, 1, *r.CostUSD, 1e-9)
	require.Equal(t, []task.Money{{Amount: 3, Currency: "USD"}, {Amount: 3, Currency: "EUR"}}, r.Costs)
}

// The server says when a second look comes, and only where nothing else is waited for.
func TestReceiptSaysWhenTheSecondLookComes(t *testing.T) {
	t.Parallel()
	first, second, after := time.Now(), time.Now().Add(time.Minute), 5*time.Minute
	at := func(boxes ...task.Sandbox) *time.Time {
		r := receipt.New(task.Task{ID: "t"}, boxes, nil)
		r.LookAgain(after)
		return r.VerificationDueAt
	}
	gone, later := task.Sandbox{Provider: "daytona", GoneAt: &first}, task.Sandbox{Provider: "daytona", GoneAt: &second}
	verified, elsewhere := task.Sandbox{Provider: "local", GoneAt: &first, VerifiedAt: &first}, task.Sandbox{Provider: task.ProviderExternal}
	require.Equal(t, second.Add(5*time.Minute), *at(gone, later, verified, elsewhere))
	require.Nil(t, at(gone, task.Sandbox{Provider: "daytona"}), "one is there")
	require.Nil(t, at(gone, task.Sandbox{Provider: "local", GoneAt: &first}), "that takes no time")
	require.Nil(t, at(verified))
}

// Where the agents ran elsewhere nobody has seen anything to be gone.
func TestReceiptOfWhatIsElsewhere(t *testing.T) {
	t.Parallel()
	r := receipt.New(task.Task{ID: "t"}, []task.Sandbox{{Provider: task.ProviderExternal}, {Provider: task.ProviderBare}}, nil)
	require.False(t, r.Verified)
	require.Zero(t, r.Unverified)
}

// A task that never had a sandbox has left none.
func TestReceiptOfNothing(t *testing.T) {
	t.Parallel()
	r := receipt.New(task.Task{ID: "t"}, nil, nil)
	require.True(t, r.Verified)
	require.Empty(t, r.Costs)
}
