package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestJudge_AcceptsOnlyLegalRequests(t *testing.T) {
	t.Parallel()
	running := task.State{Status: task.StatusRunning, SandboxID: "s"}
	for name, c := range map[string]struct {
		state   task.State
		ask     task.CommandRequest
		leads   task.Status
		receipt task.Receipt
		code    task.Code
	}{
		"cancel":                    {running, task.CommandRequest{Kind: task.CommandCancel}, task.StatusCancelled, task.ReceiptCarriedOut, ""},
		"fail":                      {running, task.CommandRequest{Kind: task.CommandFail}, task.StatusFailed, task.ReceiptCarriedOut, ""},
		"cancel of the end":         {task.State{Status: task.StatusFailed}, task.CommandRequest{Kind: task.CommandCancel}, "", "", task.CodeConflict},
		"retry of the running":      {running, task.CommandRequest{Kind: task.CommandRetry}, "", "", task.CodeConflict},
		"retry of the failed":       {task.State{Status: task.StatusFailed}, task.CommandRequest{Kind: task.CommandRetry}, task.StatusPending, task.ReceiptAccepted, ""},
		"retry of the done":         {task.State{Status: task.StatusCompleted}, task.CommandRequest{Kind: task.CommandRetry}, "", "", task.CodeConflict},
		"retry of a suspended task": {task.State{Status: task.StatusPending, Blocked: task.BlockedBudget}, task.CommandRequest{Kind: task.CommandRetry}, task.StatusPending, task.ReceiptCarriedOut, ""},
		"rewind of the running":     {running, task.CommandRequest{Kind: task.CommandRetry, Checkpoint: "1.2"}, task.StatusPending, task.ReceiptCarriedOut, ""},
		"rewind of the done":        {task.State{Status: task.StatusCompleted}, task.CommandRequest{Kind: task.CommandRetry, Checkpoint: "1.2"}, task.StatusPending, task.ReceiptAccepted, ""},
		"rewind of the queued":      {task.State{Status: task.StatusPending}, task.CommandRequest{Kind: task.CommandRetry, Checkpoint: "1.2"}, "", "", task.CodeConflict},
		"rewind at the limit":       {task.State{Status: task.StatusFailed, Attempts: task.MaxAttempts}, task.CommandRequest{Kind: task.CommandRetry, Checkpoint: "1.2"}, "", "", task.CodeConflict},
		"completion":                {running, task.CommandRequest{Kind: task.CommandComplete, SandboxID: "s", OK: true, Wire: true}, task.StatusCompleted, task.ReceiptCarriedOut, ""},
		"completion of before":      {running, task.CommandRequest{Kind: task.CommandComplete, SandboxID: "old", OK: true, Wire: true}, task.StatusRunning, task.ReceiptTooLate, ""},
		"failed completion":         {running, task.CommandRequest{Kind: task.CommandComplete, SandboxID: "s", Wire: true}, task.StatusFailed, task.ReceiptCarriedOut, ""},
		"verdict from outside":      {running, task.CommandRequest{Kind: task.CommandVerdict, SandboxID: "v", Wire: true}, task.StatusNeedsRevision, task.ReceiptCarriedOut, ""},
		"verdict while starting":    {task.State{Status: task.StatusPending, SandboxID: "s"}, task.CommandRequest{Kind: task.CommandVerdict, SandboxID: "v", Wire: true}, task.StatusNeedsRevision, task.ReceiptCarriedOut, ""},
		"verdict before all":        {task.State{Status: task.StatusPending}, task.CommandRequest{Kind: task.CommandVerdict, SandboxID: "v", Wire: true}, "", "", task.CodeConflict},
		"verdict after the end":     {task.State{Status: task.StatusCancelled}, task.CommandRequest{Kind: task.CommandVerdict, OK: true, Wire: true}, task.StatusCancelled, task.ReceiptTooLate, ""},
		"unknown":                   {running, task.CommandRequest{Kind: "sing"}, "", "", task.CodeConflict},
	} {
		effects, err := task.Judge(c.state, c.ask)
		require.Equal(t, c.code, task.CodeOf(err), name)
		if c.code == "" {
			require.Equal(t, c.leads, effects.Leads, name)
			require.Equal(t, c.receipt, effects.Receipt, name)
		}
	}
	_, err := task.Judge(task.State{Status: task.StatusFailed}, task.CommandRequest{Kind: task.CommandVerdict})
	require.EqualError(t, err, "The task is failed already; there is nothing to judge.")
}
