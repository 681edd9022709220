package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// SandboxCleanupWorkflow brings one sandbox to its end, whatever it takes: saves its work,
// deletes it, sees twice that it is gone. The reaper starts the same workflow id for an
// orphan, so there is one code path for every end. Where the sandbox's machine was declared
// lost it closes as Failed, so that it can be started again if the machine is back.
func SandboxCleanupWorkflow(ctx workflow.Context, in contract.CleanupInput) (contract.CleanupReceipt, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx) // a cancel does not stop a cleanup
	c := cleanup{
		ref:     contract.SandboxRef{TaskID: in.TaskID, SandboxID: in.SandboxID, Attempt: in.Attempt},
		receipt: contract.CleanupReceipt{SandboxID: in.SandboxID, Salvage: task.SalvageNone},
		waiter:  in.Tell,
	}
	for {
		err := c.round(ctx)
		if !unattended(err) {
			return c.receipt, err
		}
		// The machine takes no work: it may be down, be there under another name, or be lost.
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return c.receipt, workflow.NewContinueAsNewError(ctx, contract.CleanupWorkflow, in)
		}
	}
}

type cleanup struct {
	ref     contract.SandboxRef
	box     contract.LoadedSandbox
	receipt contract.CleanupReceipt
	waiter  string        // workflow that waits for the first look to find nothing
	pickup  time.Duration // longer with each round
	giveUp  time.Time     // when work that cannot be reached is written off
}

// round does what the ledger says is left to do, from the beginning.
func (c *cleanup) round(ctx workflow.Context) error {
	if err := c.load(ctx); err != nil {
		return err
	}
	switch {
	case c.box.Verified:
		c.receipt.Verified = c.box.Verify
		return nil
	case c.box.Lost:
		c.endTail(ctx)
		return temporal.NewNonRetryableApplicationError("the machine of the sandbox was declared lost", string(task.ClassInfrastructure), nil)
	case !c.box.Verify:
		return c.settle(ctx, "gone")
	}
	if err := c.salvage(ctx); err != nil {
		return err
	}
	if err := c.drain(ctx); err != nil {
		return err
	}
	if err := c.delete(ctx); err != nil {
		return err
	}
	c.receipt.Verified = true
	return nil
}

func (c *cleanup) load(ctx workflow.Context) error {
	c.box = contract.LoadedSandbox{} // what is left out of the answer must not stay
	if err := (call{name: contract.LoadSandbox}).get(ctx, c.ref, &c.box); err != nil {
		return err
	}
	const first, longest = 30 * time.Second, 5 * time.Minute
	if c.pickup = min(2*c.pickup, longest); c.pickup == 0 {
		c.pickup = cmp.Or(c.box.Pickup, first)
	}
	if now := workflow.Now(ctx); !now.Before(c.giveUp) { // at first, and where a lost one was found again
		c.giveUp = now.Add(c.box.SalvageWindow)
	}
	return nil
}

// salvage saves what is not committed, within its window. A sandbox that cannot be reached
// by then has lost it, and the ledger says since when.
func (c *cleanup) salvage(ctx workflow.Context) error {
	if c.box.Salvaged {
		return nil
	}
	work := c.there(contract.Salvage)
	work.within = c.giveUp.Sub(workflow.Now(ctx))
	var saved contract.SalvageResult
	err := work.get(ctx, c.ref, &saved)
	switch {
	case err == nil:
		c.receipt.Salvage = saved.Kind
		return nil
	case unattended(err) && workflow.Now(ctx).Before(c.giveUp):
		return err
	}
	workflow.GetLogger(ctx).Warn("work not saved", "sandbox_id", c.ref.SandboxID, "error", err)
	c.receipt.Salvage = task.SalvageLost
	return c.settle(ctx, "salvage_lost")
}

// delete removes the sandbox and looks twice that it is gone, the second time later than a
// lost create could still appear.
func (c *cleanup) delete(ctx workflow.Context) error {
	if err := c.settle(ctx, "deleting"); err != nil {
		return err
	}
	// Deleted even if nothing is there: a create under way is fenced by it.
	if err := c.remove(ctx); err != nil {
		return err
	}
	if _, err := c.untilGone(ctx); err != nil {
		return err
	}
	for appeared := true; appeared; {
		var err error
		if appeared, err = c.lookAgain(ctx); err != nil {
			return err
		}
	}
	return c.settle(ctx, "verified")
}

// lookAgain looks a second time. What has appeared since the first look is deleted, and that
// look is the first one of it.
func (c *cleanup) lookAgain(ctx workflow.Context) (appeared bool, err error) {
	if err := c.settle(ctx, "gone"); err != nil {
		return false, err
	}
	if c.box.LongestCreate > 0 {
		c.tell(ctx)
		if err := workflow.Sleep(ctx, c.box.LongestCreate); err != nil {
			return false, err
		}
	}
	return c.untilGone(ctx)
}

// tell says once that the sandbox is gone. Whoever waited for that may have ended meanwhile.
func (c *cleanup) tell(ctx workflow.Context) {
	if c.waiter == "" {
		return
	}
	told := workflow.SignalExternalWorkflow(ctx, c.waiter, "", contract.SignalSandboxDeleted, contract.SandboxDeletedSignal{SandboxID: c.ref.SandboxID})
	c.waiter = ""
	if err := told.Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Info("nobody waits for the sandbox", "sandbox_id", c.ref.SandboxID, "error", err)
	}
}

// untilGone looks, and deletes again for as long as there is something to see. It answers whether
// there was.
func (c *cleanup) untilGone(ctx workflow.Context) (was bool, err error) {
	for wait := time.Second; ; wait = min(2*wait, 5*time.Minute) {
		var answer contract.VerifyDeletedResult
		err := c.there(contract.VerifyDeleted).get(ctx, c.ref, &answer)
		if err != nil || answer.Gone {
			return was, err
		}
		was = true
		if err := workflow.Sleep(ctx, wait); err != nil {
			return was, err
		}
		if err := c.remove(ctx); err != nil {
			return was, err
		}
	}
}

func (c *cleanup) remove(ctx workflow.Context) error {
	work := c.there(contract.DeleteSandbox)
	work.summary = task.SandboxName(c.ref.SandboxID)
	return work.get(ctx, c.ref, nil)
}

// there is a call that runs where the sandbox is, as far as the ledger knows.
func (c *cleanup) there(name string) call {
	return call{name: name, queue: c.box.Queue, pickup: c.pickup}
}

func (c *cleanup) settle(ctx workflow.Context, event string) error {
	return call{name: contract.RecordSandboxState, summary: event}.get(ctx, contract.RecordSandboxStateInput{SandboxID: c.ref.SandboxID, Event: event}, nil)
}
