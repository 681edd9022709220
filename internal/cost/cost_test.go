package cost_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestParseModelPrices(t *testing.T) {
	t.Parallel()
	got, err := cost.ParseModelPrices(" glm-4.6=0.6/2.2, claude-opus-5=5/25/0.5/6.25,")
	require.NoError(t, err)
	require.Equal(t, "glm-4.6", got[0].Model)
	require.InDelta(t, 0.06, got[0].CacheRead, 1e-9)
	require.InDelta(t, 0.75, got[0].CacheWrite, 1e-9)
	require.Equal(t, cost.ModelPrice{Model: "claude-opus-5", Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25}, got[1])
	for _, bad := range []string{"glm", "glm=1", "glm=1/2/3", "glm=a/b", "glm=1..2/3", "=1/2", "a b=1/2"} {
		_, err := cost.ParseModelPrices(bad)
		require.Equal(t, task.CodeInvalid, task.CodeOf(err), bad)
	}
}

func TestReceipt_SaysThatACostIsUnknown(t *testing.T) {
	t.Parallel()
	unknown, known := task.Sandbox{CostUnknown: true}, task.Sandbox{CostUSD: new(1.5)}
	r := receipt.New(task.Task{}, []task.Sandbox{unknown}, nil)
	require.Nil(t, r.CostUSD)
	require.Equal(t, "unknown", cost.Text(r.CostUSD, r.CostUnknown, "%.2f USD"))
	r = receipt.New(task.Task{}, []task.Sandbox{unknown, known}, nil)
	require.Equal(t, "1.50 USD + unknown", cost.Text(r.CostUSD, r.CostUnknown, "%.2f USD"))
	r = receipt.New(task.Task{}, []task.Sandbox{known}, nil)
	require.Equal(t, "1.50 USD", cost.Text(r.CostUSD, r.CostUnknown, "%.2f USD"))
}
