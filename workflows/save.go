package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// projection takes the next ordinal and returns the state of the task for the store. edit, which may be nil, changes the state.
func (r *taskRun) projection(edit func(*contract.Projection)) contract.Projection {
	r.ordinal++
	p := r.state()
	if edit != nil {
		edit(&p)
	}
	return p
}

func (r *taskRun) state() contract.Projection {
	return contract.Projection{
		TaskID: r.id, FirstRunID: r.first, Ordinal: r.ordinal,
		Status: r.judge.Status, Blocked: r.judge.Blocked, SandboxID: r.shownSandbox(),
		Retries: r.judge.Retries, Revisions: r.judge.Revisions,
		Branch: r.loaded.Branch, Base: r.loaded.Base, Settle: r.settle,
	}
}

// saveState writes the state of the task. It returns errFenced if another run owns the task.
func (r *taskRun) saveState(ctx workflow.Context, edit func(*contract.Projection)) (contract.Projected, error) {
	p := r.projection(edit)
	return r.save(ctx, call{name: contract.SaveTaskState, summary: string(p.Status)}, p)
}

// saveProgress writes a status on which nothing depends, under the ordinal of the last write: if the workflow task is lost, the
// next one may write another status instead. This allows a local activity, which adds one history event.
func (r *taskRun) saveProgress(ctx workflow.Context) error {
	p := r.state()
	p.Progress = true
	_, err := r.save(ctx, call{name: contract.SaveTaskState, summary: string(p.Status), local: true}, p)
	return err
}

func (r *taskRun) save(ctx workflow.Context, c call, p contract.Projection) (contract.Projected, error) {
	var answer contract.Projected
	if err := c.get(ctx, p, &answer); err != nil {
		return answer, err
	}
	if answer.Fenced {
		return answer, errFenced
	}
	r.settle = nil
	r.view.refresh(ctx)
	return answer, r.publishStatus(ctx)
}

// shownSandbox returns the sandbox ID for the task's row. It is empty before the assignment.
func (r *taskRun) shownSandbox() string {
	if r.attempt == nil || !r.attempt.Assigned {
		return ""
	}
	return r.attempt.SandboxID
}

// publishStatus updates the search attributes if the status has changed.
func (r *taskRun) publishStatus(ctx workflow.Context) error {
	if !r.in.SearchAttributes || r.view.attribute == r.judge.Status {
		return nil
	}
	r.view.attribute = r.judge.Status
	return workflow.UpsertTypedSearchAttributes(ctx,
		temporal.NewSearchAttributeKeyKeyword(contract.AttributeStatus).ValueSet(string(r.judge.Status)),
		temporal.NewSearchAttributeKeyKeyword(contract.AttributeProject).ValueSet(r.loaded.Project),
		temporal.NewSearchAttributeKeyKeyword(contract.AttributeOrg).ValueSet(r.loaded.Org),
	)
}

// settleCommand records the outcome of a command for the next write of the state, with the reason if the command was rejected.
func (r *taskRun) settleCommand(id string, eff task.Effects) {
	if eff.Action == task.ActionPublish { // applied when the work is published
		r.accepted = append(r.accepted, id)
		return
	}
	s := contract.Settlement{CommandID: id, Receipt: eff.Receipt}
	if eff.Receipt == task.ReceiptRefused || eff.Receipt == task.ReceiptTooLate {
		s.Reason = "The task is " + string(eff.Leads) + "."
	}
	r.settle = append(r.settle, s)
}

// settleAccepted settles the commands that completed the task, by the status with which the task ends.
func (r *taskRun) settleAccepted(status task.Status) {
	for _, id := range r.accepted {
		s := contract.Settlement{CommandID: id, Receipt: task.ReceiptCarriedOut}
		if status != task.StatusCompleted {
			s.Receipt, s.Reason = task.ReceiptRefused, "The task ended as "+string(status)+" before its work was published."
		}
		r.settle = append(r.settle, s)
	}
	r.accepted = nil
}

// refuseLate settles the commands that arrived after the end, up to the workflow task that closes the run.
func (r *taskRun) refuseLate(ctx workflow.Context) error {
	for {
		letInboxRun(ctx)
		if err := workflow.Await(ctx, func() bool { return !r.inbox.busy }); err != nil {
			return err
		}
		if !r.inbox.has(fact.user) {
			return nil
		}
		if _, err := r.applyUserFacts(ctx); err != nil {
			return err
		}
	}
}
