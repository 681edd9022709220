package explain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestQueue_RendersEveryCode(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	texts := map[task.ReasonCode]string{
		task.ReasonSlot:               "waiting for a slot",
		task.ReasonProjectLimit:       "waiting for a slot: 5 of 5 used in this project",
		task.ReasonOrganizationLimit:  "waiting for a slot: 5 of 5 used in this organization",
		task.ReasonBudgetReserved:     "waiting: what is left of the budget of its project is reserved for running tasks",
		task.ReasonTaskBudget:         "waiting: its budget is spent, 5.00 of 5.00 USD",
		task.ReasonProjectBudget:      "waiting: the budget of its project is spent, 5.00 of 5.00 USD",
		task.ReasonDependency:         "waiting for 2 tasks that it depends on",
		task.ReasonDependencyFailed:   "waiting: a task that it depends on failed or was cancelled",
		task.ReasonProjectPaused:      "waiting: the project is paused",
		task.ReasonOrganizationPaused: "waiting: the organization is paused",
		task.ReasonAutonomousOff:      "waiting: autonomous execution is off in this project",
		task.ReasonCooldown:           "waiting until 2026-03-04 05:06:07 UTC for the limit of its credential",
		task.ReasonCooldownProbe:      "waiting: another task tries whether the limit of its credential has reset",
		task.ReasonCooldownOver:       "waiting: the limit of its credential has reset, and tasks on it resume one after the other",
		task.ReasonLimitReset:         "waiting until 2026-03-04 05:06:07 UTC, when that limit resets",
		task.ReasonLimitUnknown:       "waiting until 2026-03-04 05:06:07 UTC, since the provider did not say when that limit resets",
	}
	for _, code := range task.ReasonCodes() {
		require.Equal(t, texts[code], explain.Queue(task.Reason{Code: code, Used: 5, Limit: 5, Tasks: 2, Until: &at}), code)
	}
	require.Len(t, texts, len(task.ReasonCodes()))
	require.Empty(t, explain.Queue(task.Reason{}))
	require.Equal(t, "waiting: newer", explain.Queue(task.Reason{Code: "newer"}), "a code of a newer server")
}

func TestQueue_RendersUnitsAndClosedLimits(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]task.Reason{
		"waiting: the project admits no tasks now (limit 0)":                       {Code: task.ReasonProjectLimit},
		"waiting: the organization admits no tasks now (limit 0)":                  {Code: task.ReasonOrganizationLimit},
		"waiting: its budget is spent, 7 of 7 tokens":                              {Code: task.ReasonTaskBudget, Used: 7.4, Limit: 7, Unit: task.UnitTokens},
		"waiting: its budget is spent, 61 of 60 seconds of sandboxes":              {Code: task.ReasonTaskBudget, Used: 61, Limit: 60, Unit: task.UnitSandboxSeconds},
		"waiting: the budget of its project is spent, 2 of 1 seconds by the clock": {Code: task.ReasonProjectBudget, Used: 2, Limit: 1, Unit: task.UnitWallClock},
	} {
		require.Equal(t, want, explain.Queue(r))
	}
}
