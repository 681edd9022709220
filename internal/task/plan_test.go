package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestPlanSlots_KnowsEveryPlan(t *testing.T) {
	t.Parallel()
	want := map[string]int{"free": 1, "pro": 3, "lifetime": 5, "team": 10}
	for _, plan := range task.Plans() {
		slots, limited := task.PlanSlots(plan)
		require.Equal(t, want[plan], slots, plan)
		require.Equal(t, plan != "enterprise" && plan != "unlimited", limited, plan)
	}
}
