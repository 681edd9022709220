package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/task"
)

// stage is what the workflow of a task does next.
type stage string

// The stages of a task.
const (
	stay stage = "" // a step returns it that has decided nothing

	queued     stage = "queued"     // waits for a slot
	preparing  stage = "preparing"  // finds or creates the branch
	starting   stage = "starting"   // begins an attempt: sandbox and agent
	running    stage = "running"    // watches the agent
	retrying   stage = "retrying"   // ends an attempt that another one follows
	submitting stage = "submitting" // pushes the work to the branch, for a validator
	publishing stage = "publishing" // pushes the work to the branch and opens the pull request
	suspended  stage = "suspended"  // waits without a slot, for a time or for a user
	done       stage = "done"       // the task is completed, failed or cancelled
)

// runStage carries out the stage of the task and returns the next one.
func (r *taskRun) runStage(ctx workflow.Context) (stage, error) {
	r.view.enter(ctx, "")
	switch r.stage {
	case queued:
		return r.waitForSlot(ctx)
	case preparing:
		return r.ensureBranch(ctx)
	case starting:
		return r.startAttempt(ctx)
	case running:
		return r.watchAttempt(ctx)
	case retrying:
		return r.endForRetry(ctx)
	case submitting:
		return r.submit(ctx)
	case publishing:
		return r.publish(ctx)
	case suspended:
		return r.suspend(ctx)
	case stay, done:
	}
	return done, nil
}

// stageAfter is the stage that the effects of a fact lead to; stay if they end nothing.
func stageAfter(e task.Effects) stage {
	switch e.Action {
	case task.ActionBegin:
		return retrying
	case task.ActionPublish:
		return publishing
	case task.ActionValidate:
		return submitting
	case task.ActionPark:
		return suspended
	case task.ActionFinish:
		return done
	case task.ActionIgnore, task.ActionStay:
	}
	return stay
}

// nextStage is the stage of a task between two attempts, or at its start.
func (r *taskRun) nextStage() stage {
	switch {
	case !r.loaded.HoldsSlot:
		return queued
	case r.judge.Stage == task.StagePublish:
		return publishing
	case !r.branched:
		return preparing
	case r.judge.Stage == task.StageSubmit, r.loaded.Saved:
		return submitting
	}
	return starting
}
