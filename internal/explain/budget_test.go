package explain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestRaiseBudget_NamesScopeAndFlagOfTheLimitThatIsReached(t *testing.T) {
	t.Parallel()
	for want, reason := range map[string]task.Reason{
		"omoi budget t --wall-clock <more>":             {Code: task.ReasonTaskBudget, Unit: task.UnitWallClock},
		"omoi budget t --usd <more>":                    {Code: task.ReasonTaskBudget, Unit: task.UnitUSD},
		"omoi budget --project p --tokens <more>":       {Code: task.ReasonProjectBudget, Unit: task.UnitTokens},
		"omoi budget --project p --sandbox-time <more>": {Code: task.ReasonProjectBudget, Unit: task.UnitSandboxSeconds},
	} {
		waits := task.Task{ID: "t", ProjectID: "p", Status: task.StatusPending, QueueReason: reason}
		require.True(t, explain.OutOfBudget(waits), want)
		require.Equal(t, want, explain.RaiseBudget(waits))
	}
}
