package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// SandboxCleanupWorkflow saves the work in a sandbox, deletes the sandbox, and verifies the deletion twice. The reaper starts
// the same workflow ID for an orphan, so that every sandbox ends by one code path. If an operator declared the sandbox's host
// lost, the workflow closes as Failed, so that the reaper can start it again when the host is back.
func SandboxCleanupWorkflow(ctx workflow.Context, in contract.CleanupInput) (contract.CleanupReceipt, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx) // a cancel does not stop a cleanup
	c := cleanup{
		ref:     contract.SandboxRef{TaskID: in.TaskID, SandboxID: in.SandboxID, Attempt: in.Attempt},
		receipt: contract.CleanupReceipt{SandboxID: in.SandboxID, Salvage: task.SalvageNone},
		notify:  in.Notify,
	}
	for {
		err := c.pass(ctx)
		if !unattended(err) {
			return c.receipt, err
		}
		// No worker polls the host's queue: the host may be down, be back under another name, or be lost.
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return c.receipt, workflow.NewContinueAsNewError(ctx, contract.CleanupWorkflow, in)
		}
	}
}

// cleanup is one run of a cleanup workflow.
type cleanup struct {
	ref     contract.SandboxRef
	sandbox contract.LoadedSandbox
	receipt contract.CleanupReceipt
	notify  string        // workflow that waits for the first absence check
	pickup  time.Duration // longer with each pass
	giveUp  time.Time     // when work that cannot be reached counts as lost
}

// pass reads the ledger and runs the steps that are left.
func (c *cleanup) pass(ctx workflow.Context) error {
	if err := c.load(ctx); err != nil {
		return err
	}
	switch {
	case c.sandbox.Verified:
		c.receipt.Verified = c.sandbox.Verify
		return nil
	case c.sandbox.Lost:
		c.endPullRelay(ctx)
		return temporal.NewNonRetryableApplicationError("the host of the sandbox was declared lost", string(task.ClassInfrastructure), nil)
	case !c.sandbox.Verify:
		return c.record(ctx, "gone")
	}
	for _, step := range []func(workflow.Context) error{c.salvage, c.flushSpool, c.deleteVerified} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	c.receipt.Verified = true
	return nil
}

// load reads the ledger row of the sandbox.
func (c *cleanup) load(ctx workflow.Context) error {
	c.sandbox = contract.LoadedSandbox{} // a field that the result omits must not keep its value
	if err := (call{name: contract.LoadSandbox}).get(ctx, c.ref, &c.sandbox); err != nil {
		return err
	}
	const first, longest = 30 * time.Second, 5 * time.Minute
	if c.pickup = min(2*c.pickup, longest); c.pickup == 0 {
		c.pickup = cmp.Or(c.sandbox.Pickup, first)
	}
	if now := workflow.Now(ctx); !now.Before(c.giveUp) { // in the first pass, and when a lost sandbox was found again
		c.giveUp = now.Add(c.sandbox.SalvageWindow)
	}
	return nil
}

// salvage saves the agent's work within the salvage window. After the window the work is lost, and the ledger records the time.
func (c *cleanup) salvage(ctx workflow.Context) error {
	if c.sandbox.Salvaged {
		return nil
	}
	salvage := c.sandboxCall(contract.Salvage)
	salvage.within = c.giveUp.Sub(workflow.Now(ctx))
	var saved contract.SalvageResult
	err := salvage.get(ctx, c.ref, &saved)
	switch {
	case err == nil:
		c.receipt.Salvage = saved.Kind
		return nil
	case unattended(err) && workflow.Now(ctx).Before(c.giveUp):
		return err
	}
	workflow.GetLogger(ctx).Warn("salvage failed", "sandbox_id", c.ref.SandboxID, "error", err)
	c.receipt.Salvage = task.SalvageLost
	return c.record(ctx, "salvage_lost")
}

// minFlush is the minimum time for reading the rest of a spool when salvage has used the whole window.
const minFlush = 30 * time.Second

// flushSpool reads the remaining events of the agent's spool and ends the pull relay. If the spool cannot be read within the
// window, the deletion continues and the receipt reports unread events.
func (c *cleanup) flushSpool(ctx workflow.Context) error {
	if !c.sandbox.Pulled {
		return nil
	}
	defer c.endPullRelay(ctx)
	c.receipt.Unread = true
	if c.receipt.Salvage == task.SalvageLost {
		return nil
	}
	flush := c.sandboxCall(contract.FlushSpool)
	flush.within = max(c.giveUp.Sub(workflow.Now(ctx)), minFlush)
	err := flush.get(ctx, c.ref, nil)
	switch {
	case err == nil:
		c.receipt.Unread = false
	case unattended(err) && workflow.Now(ctx).Before(c.giveUp):
		return err
	default:
		workflow.GetLogger(ctx).Warn("flush spool failed", "sandbox_id", c.ref.SandboxID, "error", err)
	}
	return nil
}

// endPullRelay cancels the pull relay of the sandbox, if it has one.
func (c *cleanup) endPullRelay(ctx workflow.Context) {
	if !c.sandbox.Pulled {
		return
	}
	err := workflow.RequestCancelExternalWorkflow(ctx, contract.PullRelayWorkflowID(c.ref.SandboxID), "").Get(ctx, nil)
	if err != nil { // the pull relay has ended, or never started
		workflow.GetLogger(ctx).Debug("cancel pull relay failed", "sandbox_id", c.ref.SandboxID, "error", err)
	}
}

// deleteVerified deletes the sandbox and verifies its absence twice. The second check runs when a lost create request can no
// longer produce a sandbox.
func (c *cleanup) deleteVerified(ctx workflow.Context) error {
	if err := c.record(ctx, "deleting"); err != nil {
		return err
	}
	// The delete is sent even if the sandbox does not exist: it fences a create request in flight.
	if err := c.delete(ctx); err != nil {
		return err
	}
	if _, err := c.awaitAbsence(ctx); err != nil {
		return err
	}
	for reappeared := true; reappeared; {
		var err error
		if reappeared, err = c.checkAgain(ctx); err != nil {
			return err
		}
	}
	return c.record(ctx, "verified")
}

// checkAgain runs the second absence check. It deletes a sandbox that has appeared since the first check, and then counts as
// the first check of that sandbox.
func (c *cleanup) checkAgain(ctx workflow.Context) (reappeared bool, err error) {
	if err := c.record(ctx, "gone"); err != nil {
		return false, err
	}
	if c.sandbox.LongestCreate > 0 {
		c.notifyTask(ctx)
		if err := workflow.Sleep(ctx, c.sandbox.LongestCreate); err != nil {
			return false, err
		}
	}
	return c.awaitAbsence(ctx)
}

// notifyTask signals the waiting workflow once that the sandbox is deleted. That workflow may have ended.
func (c *cleanup) notifyTask(ctx workflow.Context) {
	if c.notify == "" {
		return
	}
	signal := workflow.SignalExternalWorkflow(ctx, c.notify, "", contract.SignalSandboxDeleted, contract.SandboxDeletedSignal{SandboxID: c.ref.SandboxID})
	c.notify = ""
	if err := signal.Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Debug("signal sandbox deleted failed", "sandbox_id", c.ref.SandboxID, "error", err)
	}
}

// awaitAbsence checks until the provider no longer has the sandbox, and deletes the sandbox again after each check that finds
// one. It reports whether any check found the sandbox.
func (c *cleanup) awaitAbsence(ctx workflow.Context) (existed bool, err error) {
	for wait := time.Second; ; wait = min(2*wait, 5*time.Minute) {
		var answer contract.VerifyDeletedResult
		err := c.sandboxCall(contract.VerifyDeleted).get(ctx, c.ref, &answer)
		if err != nil || answer.Gone {
			return existed, err
		}
		existed = true
		if err := workflow.Sleep(ctx, wait); err != nil {
			return existed, err
		}
		if err := c.delete(ctx); err != nil {
			return existed, err
		}
	}
}

func (c *cleanup) delete(ctx workflow.Context) error {
	d := c.sandboxCall(contract.DeleteSandbox)
	d.summary = task.SandboxName(c.ref.SandboxID)
	return d.get(ctx, c.ref, nil)
}

// sandboxCall returns a call on the task queue that the ledger has for the sandbox.
func (c *cleanup) sandboxCall(name string) call {
	return call{name: name, queue: c.sandbox.Queue, pickup: c.pickup}
}

// record moves the ledger row of the sandbox forward.
func (c *cleanup) record(ctx workflow.Context, event string) error {
	return call{name: contract.RecordSandboxState, summary: event}.get(ctx, contract.RecordSandboxStateInput{SandboxID: c.ref.SandboxID, Event: event}, nil)
}
