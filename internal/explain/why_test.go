package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestWhy_IsOneOrTwoSentences(t *testing.T) {
	t.Parallel()
	two, text := 2, "the disk is full.\n\nStartAgent, try 1: write a file: no space"
	ended, until := time.Now(), time.Date(2026, 3, 4, 14, 0, 0, 0, time.UTC)
	box, url := "abc", "https://example.org/1"
	for want, row := range map[string]task.Task{
		"waiting for admission": {Status: task.StatusPending},
		"start the workflow":    {Status: task.StatusPending, HoldsSlot: true},
		"branch and sandbox":    {Status: task.StatusPending, HoldsSlot: true, Loaded: true},
		"waits: no free":        {Status: task.StatusPending, HoldsSlot: true, WaitingFor: task.Reason{Code: task.ReasonHostsFull, Limit: 1, Provider: "docker"}},
		"does not end it: The provider cannot tell whether the agent runs: Lost": {Status: task.StatusRunning, SandboxID: &box, WaitingFor: task.Reason{Code: task.ReasonAgentUnknown, Detail: "Lost."}},
		"position 2":                            {Status: task.StatusPending, QueuePosition: &two, QueueReason: task.Reason{Code: task.ReasonProjectLimit, Used: 5, Limit: 5}},
		"organization is paused":                {Status: task.StatusPending, QueueReason: task.Reason{Code: task.ReasonOrganizationPaused}},
		"1 task to complete":                    {Status: task.StatusPending, Blocked: task.BlockedDependency, DependsOn: task.DependsOn{TaskIDs: []string{"x"}}},
		"dependency has failed":                 {Status: task.StatusPending, Blocked: task.BlockedDependencyFailed},
		"limit resets":                          {Status: task.StatusPending, Blocked: task.BlockedProviderLimit, ID: "t"},
		"waiting until 2026-03-04 14:00:00 UTC": {Status: task.StatusPending, Blocked: task.BlockedProviderLimit, ID: "t", QueueReason: task.Reason{Code: task.ReasonCooldown, Until: &until}},
		"the work is saved":                     {Status: task.StatusPending, Blocked: task.BlockedBudget},
		"its budget is spent, 7 of 7 tokens": {
			ID: "b", ProjectID: "p", Status: task.StatusPending, QueueReason: task.Reason{Code: task.ReasonTaskBudget, Used: 7, Limit: 7, Unit: task.UnitTokens},
		},
		"sandbox was unreachable":                         {Status: task.StatusPending, Blocked: task.BlockedUnknownTooLong},
		"Attempt 2 ended: it died. Starting attempt 3.":   {Status: task.StatusPending, AttemptCount: 2, Attempts: []task.Attempt{{Reason: "it died", EndedAt: &ended}}},
		"The next attempt is starting.":                   {Status: task.StatusPending, AttemptCount: 1},
		"is starting ()":                                  {Status: task.StatusAssigned, AttemptCount: 1, SandboxID: &box},
		`"Which version?" The agent waits for a message.`: {Status: task.StatusRunning, Group: task.GroupNeedsYou, Said: "Which\nversion?"},
		`"Rates 1. Fixed rates in rates.go, or 2 * 3 # 4?" The agent`: {
			Status: task.StatusRunning, Group: task.GroupNeedsYou, Said: "## Rates\n1. **Fixed rates** in `rates.go`, or 2 * 3 # 4?",
		},
		"The agent waits for a message.": {Status: task.StatusRunning, Group: task.GroupNeedsYou},
		"Attempt 1 is running ().":       {Status: task.StatusRunning, AttemptCount: 1, SandboxID: &box},
		"(local) with openai credential 2 of the user, since credential 1 was rate limited until 2026-03-04 14:00:00 UTC.": {
			Status: task.StatusRunning, AttemptCount: 2, Provider: "local", SandboxID: &box,
			Attempts: []task.Attempt{{}, {Takeover: &task.Takeover{Kind: "openai", Scope: "user", Number: 2, Limited: 1, Until: until}}},
		},
		"asked for a revision":                {Status: task.StatusNeedsRevision, Revisions: 1},
		"validation round 1 of 3 is starting": {Status: task.StatusPendingValidation, Rounds: 3},
		"validates the work":                  {Status: task.StatusValidating, AttemptCount: 2, SandboxID: &box, Rounds: 3},
		"#3, recorded in the local repository (see it with: omoi diff APP-7).": {
			Status: task.StatusCompleted, AttemptCount: 1, Key: "APP-7", PullURL: new("file:///srv/app#pull/3"), PullNumber: new(3),
		},
		"Completed after 2 attempts and 1 validation.": {
			Status: task.StatusCompleted, Rounds: 3, AttemptCount: 3, Attempts: []task.Attempt{{}, {Kind: task.KindValidation}, {}},
		},
		"Completed.":            {Status: task.StatusCompleted, Rounds: 3, AttemptCount: 3}, // of a list: how many were validations is not known
		"pull request is https": {Status: task.StatusCompleted, AttemptCount: 1, PullURL: &url},
		"Failed after 3 attempts: the disk is full.": {Status: task.StatusFailed, AttemptCount: 3, ErrorMessage: &text},
		"without a new attempt":                      {Status: task.StatusFailed, FailureClass: task.ClassPublish, Attempts: []task.Attempt{{HeadCommit: new("c0ffee")}}},
		"without a new attempt.":                     {Status: task.StatusFailed, FailureClass: task.ClassPublish, Agent: task.AgentExternal},
		"starts a new attempt":                       {Status: task.StatusFailed, FailureClass: task.ClassPublish, Attempts: []task.Attempt{{HeadCommit: new("c0ffee")}, {}}},
		"`omoi retry v` publishes": {
			Status: task.StatusFailed, FailureClass: task.ClassPublish, Rounds: 2, ID: "v", Attempts: []task.Attempt{{HeadCommit: new("c0ffee")}, {Kind: task.KindValidation}},
		},
		"saved outside its branch; `omoi retry w` pushes it and validates it, and starts": { // nobody has found it good
			Status: task.StatusFailed, FailureClass: task.ClassPublish, Rounds: 2, ID: "w", Attempts: []task.Attempt{{Salvage: &task.Salvage{Kind: task.SalvageRef, Ref: "r", Head: "c"}}},
		},
		"`omoi retry x` validates it": {
			Status: task.StatusFailed, FailureClass: task.ClassPublish, Rounds: 2, ID: "x", Attempts: []task.Attempt{{HeadCommit: new("c0ffee")}},
		},
		"The work is kept by omoi as a git bundle (`omoi work y`); `omoi retry y` pushes it": {
			Status: task.StatusFailed, FailureClass: task.ClassCredentials, ID: "y",
			Attempts: []task.Attempt{{FailureClass: task.ClassPublish, Salvage: &task.Salvage{Kind: task.SalvagePatch, Ref: "text", Head: "c"}}},
		},
		"Cancelled.":                {Status: task.StatusCancelled, ID: "t"},
		"next attempt starts":       {Status: task.StatusFailed, PendingCommand: &task.Command{Kind: "retry"}},
		"command cancel is pending": {Status: task.StatusPending, PendingCommand: &task.Command{Kind: "cancel"}},
	} {
		why := explain.Why(row, explain.Outage{})
		require.Contains(t, why, want)
		require.True(t, strings.HasSuffix(why, "."), why)
		require.NotContains(t, why, "..", why)
		require.NotContains(t, why, "\n")
	}
}

func TestWhy_NamesTheReviewThatAsksForARevision(t *testing.T) {
	t.Parallel()
	review := task.Validation{Round: 2, SandboxID: "s", Feedback: "add tests"}
	why := explain.Why(task.Task{Status: task.StatusNeedsRevision, Rounds: 3, Reviews: []task.Validation{review}}, explain.Outage{})
	require.Equal(t, "round 2 of 3: the validator said no: add tests. The next attempt is starting.", why)
}

func TestWhy_NamesTheProjectByItsKey(t *testing.T) {
	t.Parallel()
	waits := task.Task{Key: "APP-12", ProjectID: "P", Status: task.StatusPending, QueueReason: task.Reason{Code: task.ReasonProjectLimit}}
	require.Equal(t, "omoi project update APP --max-concurrent-tasks <n>", explain.Explain(explain.WhyFacts{Task: waits}).Next)
}
