package explain_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestReason_RendersEveryCode(t *testing.T) {
	t.Parallel()
	full := task.Reason{
		Used: 20, Limit: 2, Tasks: 2, Provider: "docker", Attempt: 3, Tries: 1, Seconds: 90, Detail: "the engine does not answer.",
		By: "guardian", Credential: "github", ExitCode: 7, Until: new(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)),
		Hosts: []task.HostReason{{Name: "a", Sandboxes: 12, Online: true}, {Name: "b", Sandboxes: 8}},
	}
	texts := map[task.ReasonCode]string{
		task.ReasonSlot:               "waiting for a slot",
		task.ReasonProjectLimit:       "waiting for a slot: 20 of 2 used in this project",
		task.ReasonOrganizationLimit:  "waiting for a slot: 20 of 2 used in this organization",
		task.ReasonBudgetReserved:     "waiting: the rest of the project's budget is reserved for running tasks",
		task.ReasonTaskBudget:         "waiting: its budget is spent, 20.00 of 2.00 USD",
		task.ReasonProjectBudget:      "waiting: the budget of its project is spent, 20.00 of 2.00 USD",
		task.ReasonDependency:         "waiting for 2 tasks that it depends on",
		task.ReasonDependencyFailed:   "waiting: a dependency failed or was cancelled",
		task.ReasonProjectPaused:      "waiting: the project is paused",
		task.ReasonOrganizationPaused: "waiting: the organization is paused",
		task.ReasonAutonomousOff:      "waiting: autonomous execution is off in this project",
		task.ReasonCooldown:           "waiting until 2026-03-04 05:06:07 UTC for the rate limit of its credential",
		task.ReasonCooldownProbe:      "waiting: another task tests whether the rate limit of its credential has reset",
		task.ReasonCooldownOver:       "waiting: the rate limit of its credential has reset, and its tasks resume one after the other",
		task.ReasonTakeover:           "waiting for another credential of the same owner to take over",
		task.ReasonLimitReset:         "waiting until 2026-03-04 05:06:07 UTC, when that limit resets",
		task.ReasonLimitUnknown:       "waiting until 2026-03-04 05:06:07 UTC, since the provider did not say when that limit resets",
		task.ReasonServerFull:         "waiting until 2026-03-04 05:06:07 UTC for room on its OpenHands server",
		task.ReasonEarlierSandbox:     "the sandbox of attempt 3 is not verified deleted; the next attempt starts when it is, or 1m30s after the end of attempt 3",
		task.ReasonUnverifiedLimit: "20 of the docker sandboxes are not verified deleted, the limit is 2; 12 on host a; 8 on host b, which is offline " +
			"(start its worker again, or mark the host as lost: omoi host list)",
		task.ReasonNoHost:    "no host offers docker sandboxes; start omoi worker on a host that can (omoi doctor names what is missing there)",
		task.ReasonHostsFull: "no free capacity on the 2 hosts that offer docker sandboxes",
		task.ReasonRetrying:  "the engine does not answer; tried 1 time, the next try is within 1m30s",

		task.ReasonSetupFailed:    "the engine does not answer.",
		task.ReasonSetupTimeout:   "the engine does not answer.",
		task.ReasonNoCredential:   "the engine does not answer.",
		task.ReasonInterrupted:    "the engine does not answer.",
		task.ReasonOutOfMemory:    "The agent ran out of memory.",
		task.ReasonDiskFull:       "The agent filled the sandbox's disk.",
		task.ReasonKilled:         "The agent was killed from outside.",
		task.ReasonStopped:        "The agent was stopped from outside.",
		task.ReasonExited:         "The agent exited with code 7 and reported no outcome.",
		task.ReasonNotStarted:     "The agent did not report its start.",
		task.ReasonNoWork:         "The agent sends heartbeats and does no work.",
		task.ReasonIdle:           "The agent waited for a message that did not come.",
		task.ReasonSilent:         "The agent stopped sending heartbeats.",
		task.ReasonSandboxGone:    "The provider reports the sandbox as deleted.",
		task.ReasonSandboxStopped: "The sandbox no longer runs: the engine does not answer.",
		task.ReasonMaxDuration:    "The attempt exceeded its maximum duration; the last check said: the engine does not answer.",
		task.ReasonNoVerdict:      "The validator ended without a verdict.",
		task.ReasonTestsChanged:   "The test command passes only with changed tests, and the task contract says that tests must not change.",
		task.ReasonNoCommit:       "The branch has no commit of this task, which requires one.",
		task.ReasonReset:          "The task's workflow was reset to a point before this attempt, so another attempt replaces it.",
		task.ReasonTaskEnded:      "The task ended without this attempt: its workflow was reset.",
		task.ReasonSandboxLeft:    "The sandbox no longer existed when the task was loaded.",
		task.ReasonTerminated:     "The workflow was terminated.",
		task.ReasonQuestion:       "The agent asked a user, and nobody answered while it waited.",
		task.ReasonImported:       "The task had not ended when it was imported from OmoiOS.",

		task.ReasonStoreUnreachable:    "The database cannot be reached.",
		task.ReasonSandboxUnreachable:  "The sandbox cannot be reached from this worker.",
		task.ReasonProviderUnreachable: "The provider cannot be reached: the engine does not answer.",
		task.ReasonAgentUnknown:        "The provider cannot tell whether the agent runs: the engine does not answer.",
		task.ReasonIntakeDown:          "Events could not be ingested for a while.",
		task.ReasonRelayDown:           "Events and commands could not be forwarded for a while.",
		task.ReasonSpoolUnreadable:     "The agent's spool cannot be read.",
		task.ReasonEndUnsent:           "The agent has ended and cannot reach the API: the engine does not answer.",
		task.ReasonEventsUnsent:        "The agent runs and cannot reach the API: the engine does not answer.",
		task.ReasonEventsPending:       "The agent sends heartbeats, and its events are on their way.",
		task.ReasonVerdictPending:      "Its verdict is accepted and on its way to the task.",
	}
	require.ElementsMatch(t, codes(t), slices.Collect(maps.Keys(texts)), "all codes of package task")
	for code, text := range texts {
		r := full
		r.Code = code
		require.Equal(t, text, explain.Reason(r), code)
	}
	require.Empty(t, explain.Reason(task.Reason{}))
	require.Equal(t, "newer", explain.Reason(task.Reason{Code: "newer"}), "a code of a newer server")
}

// codes are the constants of package task.
func codes(t *testing.T) (all []task.ReasonCode) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../task/reason.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		one, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := one.Type.(*ast.Ident); ok && kind.Name == "ReasonCode" {
			value, err := strconv.Unquote(one.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			all = append(all, task.ReasonCode(value))
		}
		return true
	})
	return all
}

func TestReason_RendersEndsWithoutDetail(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]task.Reason{
		"The setup step failed.":                                {Code: task.ReasonSetupFailed},
		"The setup step exceeded its time limit.":               {Code: task.ReasonSetupTimeout},
		"A credential is missing.":                              {Code: task.ReasonNoCredential},
		"The agent was interrupted by the guardian, and ended.": {Code: task.ReasonInterrupted, By: "guardian"},
		"The agent was interrupted, and ended.":                 {Code: task.ReasonInterrupted},
		"The attempt exceeded its maximum duration.":            {Code: task.ReasonMaxDuration},
		"The sandbox no longer runs.":                           {Code: task.ReasonSandboxStopped},
		"The provider cannot be reached.":                       {Code: task.ReasonProviderUnreachable},
	} {
		require.Equal(t, want, explain.Reason(r))
	}
}

func TestReason_RendersUnitsAndClosedLimits(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]task.Reason{
		"waiting: the project admits no tasks now (limit 0)":                             {Code: task.ReasonProjectLimit},
		"waiting: the organization admits no tasks now (limit 0)":                        {Code: task.ReasonOrganizationLimit},
		"waiting: its budget is spent, 7 of 7 tokens":                                    {Code: task.ReasonTaskBudget, Used: 7.4, Limit: 7, Unit: task.UnitTokens},
		"waiting: its budget is spent, 61 of 60 sandbox seconds":                         {Code: task.ReasonTaskBudget, Used: 61, Limit: 60, Unit: task.UnitSandboxSeconds},
		"waiting: the budget of its project is spent, 2 of 1 seconds of wall-clock time": {Code: task.ReasonProjectBudget, Used: 2, Limit: 1, Unit: task.UnitWallClock},
	} {
		require.Equal(t, want, explain.Reason(r))
	}
}

// A task that was read names the tasks that it waits for, at most three.
func TestReason_NamesDependencies(t *testing.T) {
	t.Parallel()
	waits := func(code task.ReasonCode, keys ...string) string {
		return explain.Reason(task.Reason{Code: code, Tasks: 9, Keys: keys})
	}
	require.Equal(t, "waiting for APP-1 to complete", waits(task.ReasonDependency, "APP-1"))
	require.Equal(t, "waiting for APP-1, APP-2, APP-3 and 1 more task to complete", waits(task.ReasonDependency, "APP-1", "APP-2", "APP-3", "APP-4"))
	require.Equal(t, "waiting: a dependency failed or was cancelled: APP-1, APP-2", waits(task.ReasonDependencyFailed, "APP-1", "APP-2"))
}
