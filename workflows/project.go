package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// project writes where the task stands. edit adds what this projection tells beyond that;
// nil adds nothing. It answers errFenced if another run owns the task.
func (r *taskRun) project(ctx workflow.Context, edit func(*contract.Projection)) error {
	_, err := r.projectAnswer(ctx, edit)
	return err
}

func (r *taskRun) projectAnswer(ctx workflow.Context, edit func(*contract.Projection)) (contract.Projected, error) {
	r.ordinal++
	p := contract.Projection{
		TaskID: r.id, FirstRunID: r.first, Ordinal: r.ordinal,
		Status: r.judge.Status, Blocked: r.judge.Blocked, SandboxID: r.shownSandbox(),
		Retries: r.judge.Retries, Revisions: r.judge.Revisions,
		Branch: r.loaded.Branch, Base: r.loaded.Base, Settle: r.settle,
	}
	if edit != nil {
		edit(&p)
	}
	var answer contract.Projected
	err := call{name: contract.SaveTaskState, summary: string(p.Status)}.get(ctx, p, &answer)
	if err != nil {
		return answer, err
	}
	if answer.Fenced {
		return answer, errFenced
	}
	r.settle = nil
	r.view.refresh(ctx)
	return answer, r.publishStatus(ctx)
}

// shownSandbox is the sandbox id that the row names: only from the assignment on.
func (r *taskRun) shownSandbox() string {
	if r.attempt == nil || !r.attempt.Assigned {
		return ""
	}
	return r.attempt.SandboxID
}

// publishStatus keeps the search attribute in step with the status.
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

// settleCommand notes the outcome of a command for the next projection, with the reason if
// it came to nothing.
func (r *taskRun) settleCommand(id string, eff task.Effects) {
	if eff.Action == task.ActionPublish { // carried out once it is published, and not before
		r.kept = append(r.kept, id)
		return
	}
	s := contract.Settlement{CommandID: id, Receipt: eff.Receipt}
	if eff.Receipt == task.ReceiptRefused || eff.Receipt == task.ReceiptTooLate {
		s.Reason = "The task is " + string(eff.Leads) + "."
	}
	r.settle = append(r.settle, s)
}

// settleKept settles the commands whose success was accepted, as the task has ended.
func (r *taskRun) settleKept(eff task.Effects) {
	for _, id := range r.kept {
		s := contract.Settlement{CommandID: id, Receipt: task.ReceiptCarriedOut}
		if eff.Status != task.StatusCompleted {
			s.Receipt, s.Reason = task.ReceiptRefused, "The task ended as "+string(eff.Status)+" before its work was published."
		}
		r.settle = append(r.settle, s)
	}
	r.kept = nil
}

// refuseLate settles what came in after the end, up to the workflow task that closes the run.
func (r *taskRun) refuseLate(ctx workflow.Context) error {
	for {
		letPumpRun(ctx)
		if err := workflow.Await(ctx, func() bool { return !r.inbox.busy }); err != nil {
			return err
		}
		if !r.inbox.waiting(true) {
			return nil
		}
		if _, _, err := r.judgeWaiting(ctx, true); err != nil {
			return err
		}
	}
}
