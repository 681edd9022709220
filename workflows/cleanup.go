package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// SandboxCleanupWorkflow brings one sandbox to its end, whatever it takes: saves its work,
// deletes it, sees twice that it is gone. The reaper starts the same workflow id for an
// orphan, so there is one code path for every end.
func SandboxCleanupWorkflow(ctx workflow.Context, in contract.CleanupInput) (contract.CleanupReceipt, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx) // a cancel does not stop a cleanup
	c := cleanup{ref: contract.SandboxRef{TaskID: in.TaskID, SandboxID: in.SandboxID, Attempt: in.Attempt}}
	receipt := contract.CleanupReceipt{SandboxID: in.SandboxID, Salvage: task.SalvageNone}
	if err := (call{name: contract.LoadSandbox}).get(ctx, c.ref, &c.box); err != nil {
		return receipt, err
	}
	if c.box.Verified {
		receipt.Verified = c.box.Verify
		return receipt, nil
	}
	if !c.box.Verify {
		return receipt, c.settle(ctx, "gone")
	}
	var err error
	if receipt.Salvage, err = c.salvage(ctx); err != nil {
		return receipt, err
	}
	if err := c.delete(ctx); err != nil {
		return receipt, err
	}
	receipt.Verified = true
	return receipt, nil
}

type cleanup struct {
	ref contract.SandboxRef
	box contract.LoadedSandbox
}

// salvage saves what is not committed, within its window. A sandbox that cannot be reached
// by then has lost it, and the ledger says since when.
func (c cleanup) salvage(ctx workflow.Context) (string, error) {
	if c.box.Salvaged {
		return task.SalvageNone, nil
	}
	var saved contract.SalvageResult
	err := call{name: contract.Salvage, queue: c.box.Queue, within: c.box.SalvageWindow}.get(ctx, c.ref, &saved)
	if err == nil {
		return saved.Kind, nil
	}
	workflow.GetLogger(ctx).Warn("work not saved", "sandbox_id", c.ref.SandboxID, "error", err)
	return task.SalvageLost, c.settle(ctx, "salvage_lost")
}

// delete removes the sandbox and looks twice that it is gone, the second time later than a
// lost create could still appear.
func (c cleanup) delete(ctx workflow.Context) error {
	if err := c.settle(ctx, "deleting"); err != nil {
		return err
	}
	// Deleted even if nothing is there: a create under way is fenced by it.
	if err := c.remove(ctx); err != nil {
		return err
	}
	if err := c.untilGone(ctx); err != nil {
		return err
	}
	if err := c.settle(ctx, "gone"); err != nil {
		return err
	}
	if c.box.LongestCreate > 0 {
		if err := workflow.Sleep(ctx, c.box.LongestCreate); err != nil {
			return err
		}
	}
	if err := c.untilGone(ctx); err != nil {
		return err
	}
	return c.settle(ctx, "verified")
}

// untilGone looks, and deletes again for as long as there is something to see.
func (c cleanup) untilGone(ctx workflow.Context) error {
	for wait := time.Second; ; wait = min(2*wait, 5*time.Minute) {
		var answer contract.GoneAnswer
		err := call{name: contract.VerifyGone, queue: c.box.Queue}.get(ctx, c.ref, &answer)
		if err != nil || answer.Gone {
			return err
		}
		if err := workflow.Sleep(ctx, wait); err != nil {
			return err
		}
		if err := c.remove(ctx); err != nil {
			return err
		}
	}
}

func (c cleanup) remove(ctx workflow.Context) error {
	return call{name: contract.DeleteSandbox, queue: c.box.Queue, summary: task.SandboxName(c.ref.SandboxID)}.get(ctx, c.ref, nil)
}

func (c cleanup) settle(ctx workflow.Context, event string) error {
	return call{name: contract.SettleSandbox, summary: event}.get(ctx, contract.Settling{SandboxID: c.ref.SandboxID, Event: event}, nil)
}
