package task_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestJudgeKnowsWhatIsInOrder(t *testing.T) {
	t.Parallel()
	running := task.State{Status: task.StatusRunning, SandboxID: "s"}
	for name, c := range map[string]struct {
		state   task.State
		ask     task.Ask
		leads   task.Status
		receipt task.Receipt
		code    task.Code
	}{
		"cancel":                 {running, task.Ask{Kind: task.AskCancel}, task.StatusCancelled, task.ReceiptCarriedOut, ""},
		"fail":                   {running, task.Ask{Kind: task.AskFail}, task.StatusFailed, task.ReceiptCarriedOut, ""},
		"cancel of the end":      {task.State{Status: task.StatusFailed}, task.Ask{Kind: task.AskCancel}, "", "", task.CodeConflict},
		"retry of the running":   {running, task.Ask{Kind: task.AskRetry}, "", "", task.CodeConflict},
		"retry of the failed":    {task.State{Status: task.StatusFailed}, task.Ask{Kind: task.AskRetry}, task.StatusPending, task.ReceiptAccepted, ""},
		"retry of the done":      {task.State{Status: task.StatusCompleted}, task.Ask{Kind: task.AskRetry}, "", "", task.CodeConflict},
		"retry of the parked":    {task.State{Status: task.StatusPending, Blocked: task.BlockedBudget}, task.Ask{Kind: task.AskRetry}, task.StatusPending, task.ReceiptCarriedOut, ""},
		"completion":             {running, task.Ask{Kind: task.AskComplete, SandboxID: "s", OK: true, Wire: true}, task.StatusCompleted, task.ReceiptCarriedOut, ""},
		"completion of before":   {running, task.Ask{Kind: task.AskComplete, SandboxID: "old", OK: true, Wire: true}, task.StatusRunning, task.ReceiptTooLate, ""},
		"failed completion":      {running, task.Ask{Kind: task.AskComplete, SandboxID: "s", Wire: true}, task.StatusFailed, task.ReceiptCarriedOut, ""},
		"verdict from outside":   {running, task.Ask{Kind: task.AskVerdict, SandboxID: "v", Wire: true}, task.StatusNeedsRevision, task.ReceiptCarriedOut, ""},
		"verdict while starting": {task.State{Status: task.StatusPending, SandboxID: "s"}, task.Ask{Kind: task.AskVerdict, SandboxID: "v", Wire: true}, task.StatusNeedsRevision, task.ReceiptCarriedOut, ""},
		"verdict before all":     {task.State{Status: task.StatusPending}, task.Ask{Kind: task.AskVerdict, SandboxID: "v", Wire: true}, "", "", task.CodeConflict},
		"verdict after the end":  {task.State{Status: task.StatusCancelled}, task.Ask{Kind: task.AskVerdict, OK: true, Wire: true}, task.StatusCancelled, task.ReceiptTooLate, ""},
		"unknown":                {running, task.Ask{Kind: "sing"}, "", "", task.CodeConflict},
	} {
		effects, err := task.Judge(c.state, c.ask)
		require.Equal(t, c.code, task.CodeOf(err), name)
		if c.code == "" {
			require.Equal(t, c.leads, effects.Leads, name)
			require.Equal(t, c.receipt, effects.Receipt, name)
		}
	}
	_, err := task.Judge(task.State{Status: task.StatusFailed}, task.Ask{Kind: task.AskVerdict})
	require.EqualError(t, err, "The task is failed already; there is nothing to judge.")
}

func TestCycleIsFoundHoweverLong(t *testing.T) {
	t.Parallel()
	edges := map[string][]string{"a": {"x", "b"}, "b": {"x", "c"}, "c": {"d"}, "x": {"y"}, "y": {"x"}}
	require.Nil(t, task.Cycle("a", edges), "a cycle that does not pass through a is not a's")
	edges["d"] = []string{"a"}
	require.Equal(t, []string{"a", "b", "c", "d", "a"}, task.Cycle("a", edges))
	require.Equal(t, []string{"z", "z"}, task.Cycle("z", map[string][]string{"z": {"z"}}))
}

func TestWhyIsOneOrTwoSentencesForEveryRow(t *testing.T) {
	t.Parallel()
	two, text := 2, "the disk is full.\n\nStartAgent, try 1: write a file: no space"
	ended := time.Now()
	box, url := "abc", "https://example.org/1"
	for want, row := range map[string]task.Task{
		"about to be let in":     {Status: task.StatusPending},
		"branch and sandbox":     {Status: task.StatusPending, HoldsSlot: true},
		"waits: no room":         {Status: task.StatusPending, HoldsSlot: true, WaitingFor: "no room on 1 machine"},
		"trouble: Lost":          {Status: task.StatusRunning, SandboxID: &box, WaitingFor: "Lost."},
		"position 2":             {Status: task.StatusPending, QueuePosition: &two, QueueReason: "waiting for a slot: 5 of 5 used in this project"},
		"organization is paused": {Status: task.StatusPending, QueueReason: "waiting: the organization is paused"},
		"1 task to be completed": {Status: task.StatusPending, Blocked: task.BlockedDependency, DependsOn: task.DependsOn{TaskIDs: []string{"x"}}},
		"retry that one":         {Status: task.StatusPending, Blocked: task.BlockedDependencyFailed},
		"limit resets":           {Status: task.StatusPending, Blocked: task.BlockedProviderLimit, ID: "t"},
		"waiting until 14:00":    {Status: task.StatusPending, Blocked: task.BlockedProviderLimit, ID: "t", QueueReason: "waiting until 14:00"},
		"Raise the budget":       {Status: task.StatusPending, Blocked: task.BlockedBudget},
		"`omoi budget b --usd <more>`": {
			ID: "b", ProjectID: "p", Status: task.StatusPending, Blocked: task.BlockedBudget,
			Attempts: []task.Attempt{{Reason: "its budget is spent, 1.00 of 0.50 USD"}},
		},
		"`omoi budget --project p --sandbox-time <more>`": {
			ID: "b", ProjectID: "p", Status: task.StatusPending, Blocked: task.BlockedBudget,
			Attempts: []task.Attempt{{Reason: "the budget of its project is spent, 61 of 60 seconds of sandboxes"}},
		},
		"7 of 7 tokens. Raise the budget with `omoi budget --project p --tokens <more>`": {
			ID: "b", ProjectID: "p", Status: task.StatusPending, QueueReason: "waiting: the budget of its project is spent, 7 of 7 tokens",
		},
		"could not be reached":    {Status: task.StatusPending, Blocked: task.BlockedUnknownTooLong},
		"Attempt 2 has ended":     {Status: task.StatusPending, AttemptCount: 2, Attempts: []task.Attempt{{Reason: "it died", EndedAt: &ended}}},
		"being started":           {Status: task.StatusAssigned, AttemptCount: 1, SandboxID: &box},
		"at work in sandbox abc":  {Status: task.StatusRunning, AttemptCount: 1, SandboxID: &box},
		"asked for a revision":    {Status: task.StatusNeedsRevision, Revisions: 1},
		"validator is about to":   {Status: task.StatusPendingValidation, Rounds: 3},
		"validates the work":      {Status: task.StatusValidating, AttemptCount: 2, SandboxID: &box, Rounds: 3},
		"pull request is https":   {Status: task.StatusCompleted, AttemptCount: 1, PullURL: &url},
		"the disk is full. Begin": {Status: task.StatusFailed, AttemptCount: 3, ErrorMessage: &text},
		"then `omoi retry i`.":    {Status: task.StatusFailed, ID: "i", FailureClass: task.ClassInvalidInput, ErrorMessage: &text},
		"without a new attempt":   {Status: task.StatusFailed, FailureClass: task.ClassPublish, Attempts: []task.Attempt{{HeadCommit: new("c0ffee")}}},
		"without a new attempt.":  {Status: task.StatusFailed, FailureClass: task.ClassPublish, Provider: task.ProviderExternal},
		"begins a new attempt":    {Status: task.StatusFailed, FailureClass: task.ClassPublish, Attempts: []task.Attempt{{HeadCommit: new("c0ffee")}, {}}},
		"`omoi retry v` publishes": {
			Status: task.StatusFailed, FailureClass: task.ClassPublish, Rounds: 2, ID: "v", Attempts: []task.Attempt{{HeadCommit: new("c0ffee")}, {Kind: task.KindValidation}},
		},
		"saved beside its branch; `omoi retry w` tries to put it there and hands it to a validator, and begins": { // nobody has found it good
			Status: task.StatusFailed, FailureClass: task.ClassPublish, Rounds: 2, ID: "w", Attempts: []task.Attempt{{Salvage: &task.Salvage{Kind: task.SalvageRef, Ref: "r", Head: "c"}}},
		},
		"`omoi retry x` hands it": {
			Status: task.StatusFailed, FailureClass: task.ClassPublish, Rounds: 2, ID: "x", Attempts: []task.Attempt{{HeadCommit: new("c0ffee")}},
		},
		"Mend the credentials. The work is kept by omoi as a git bundle (`omoi work y`); `omoi retry y` tries": {
			Status: task.StatusFailed, FailureClass: task.ClassCredentials, ID: "y",
			Attempts: []task.Attempt{{FailureClass: task.ClassPublish, Salvage: &task.Salvage{Kind: task.SalvagePatch, Ref: "text", Head: "c"}}},
		},
		"omoi retry t":        {Status: task.StatusCancelled, ID: "t"},
		"next attempt begins": {Status: task.StatusFailed, PendingCommand: &task.Command{Kind: "retry"}},
		"cancel is asked for": {Status: task.StatusPending, PendingCommand: &task.Command{Kind: "cancel"}},
	} {
		why := task.Why(row)
		require.Contains(t, why, want)
		require.True(t, strings.HasSuffix(why, "."), why)
		require.NotContains(t, why, "..", why)
		require.NotContains(t, why, "\n")
	}
}
