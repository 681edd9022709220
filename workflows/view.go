package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// view is what users see of a run: the query "state" and the details in the Web UI.
type view struct {
	run       *taskRun
	detail    string // of the stage; may be empty
	lastEvent string
	attribute task.Status // last value of the search attribute
}

// register sets the query handler. The query works from the first workflow task on.
func (v *view) register(ctx workflow.Context, r *taskRun) error {
	v.run = r
	return workflow.SetQueryHandlerWithOptions(ctx, contract.QueryState,
		func() (contract.TaskView, error) { return v.answer(), nil },
		workflow.QueryHandlerOptions{Description: "Where the task stands and why it waits."})
}

// enter sets the detail of the stage and updates the Web UI's details. It adds no history event.
func (v *view) enter(ctx workflow.Context, detail string) {
	v.detail = detail
	v.refresh(ctx)
}

// phase returns the stage with its detail, for example "starting: waiting: no_host".
func (v *view) phase() string {
	switch {
	case v.run.stage == stay:
		return v.detail
	case v.detail == "":
		return string(v.run.stage)
	}
	return string(v.run.stage) + ": " + v.detail
}

// refresh updates the Web UI's details.
func (v *view) refresh(ctx workflow.Context) { workflow.SetCurrentDetails(ctx, v.markdown()) }

// sawEvent records the newest event of the sandbox.
func (v *view) sawEvent(ctx workflow.Context, d contract.Digest) {
	v.lastEvent = d.LastType
	v.refresh(ctx)
}

func (v *view) answer() contract.TaskView {
	r := v.run
	a := contract.TaskView{
		TaskID: r.id, Stage: string(r.stage), Detail: v.detail, Status: r.judge.Status, Blocked: r.judge.Blocked,
		Branch: r.loaded.Branch, Seen: r.watch.Seen, LastEvent: v.lastEvent, Why: v.why(),
		Retries: r.judge.Retries, Signals: r.inbox.signals,
	}
	if r.attempt != nil {
		a.Attempt, a.SandboxID = r.attempt.Number, r.attempt.SandboxID
	}
	return a
}

// why returns one sentence about what the task does or waits for.
func (v *view) why() string {
	r := v.run
	switch {
	case r.judge.Status.Final():
		return "The task is " + string(r.judge.Status) + "."
	case r.judge.Blocked != task.BlockedNone:
		return "The task is suspended: " + string(r.judge.Blocked) + "."
	case r.watch.Unknown > 0:
		return fmt.Sprintf("%s The attempt continues. Checked %d times in a row.", r.watch.Uncertainty, r.watch.Unknown)
	}
	return "The task is " + v.phase() + "."
}

func (v *view) markdown() string {
	a := v.answer()
	text := fmt.Sprintf("**%s** (%s)\n\n%s\n", v.phase(), a.Status, a.Why)
	if a.Attempt > 0 {
		text += fmt.Sprintf("\n- attempt %d of at most %d\n- sandbox `%s`\n- last event `%s`, %d applied\n",
			a.Attempt, v.run.judge.MaxRetries+1, a.SandboxID, a.LastEvent, a.Seen)
	}
	if a.Branch != "" {
		text += "- branch `" + a.Branch + "`\n"
	}
	return text
}
