package workflows

import (
	"strconv"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// nextAttempt is what the previous attempt leaves to the next one.
type nextAttempt struct {
	kind       string
	feedbackID string
}

// Kinds of attempts.
const (
	kindFirst       = "first"
	kindRetry       = "retry"
	kindRevision    = "revision"
	kindReplacement = "replacement"
	kindResumed     = "resumed"
)

// startAttempt begins an attempt, unless one is live already, creates its sandbox and starts the agent.
func (r *taskRun) startAttempt(ctx workflow.Context) (stage, error) {
	if r.attempt == nil {
		if next, err := r.beginAttempt(ctx); next != stay || err != nil {
			return next, err
		}
	}
	var sandbox contract.SpawnedSandbox
	if next, err := r.do(ctx, r.spawnCall(contract.EnsureSandbox), r.ref(), &sandbox); next != stay || err != nil {
		return next, err
	}
	r.attempt.Pulled = sandbox.Pulled
	return r.startAgent(ctx)
}

// beginAttempt takes the next attempt from the store, which may have no room for its sandbox yet.
func (r *taskRun) beginAttempt(ctx workflow.Context) (stage, error) {
	r.ordinal++
	in := contract.BeginAttemptInput{
		TaskID: r.id, FirstRunID: r.first, Ordinal: r.ordinal, Kind: r.kind(), FeedbackID: r.next.feedbackID,
	}
	for {
		if next, err := r.applyUserFacts(ctx); next != stay || err != nil {
			return next, err
		}
		var begun contract.BeginAttemptResult
		if err := (call{name: contract.BeginAttempt, summary: in.Kind}).get(ctx, in, &begun); err != nil {
			return r.failed(ctx, err), nil
		}
		switch {
		case begun.Fenced: // a reset to mid-run: writing the state asks whether this run is the current one
			if _, err := r.saveState(ctx, nil); err != nil {
				return stay, err
			}
			r.ordinal++
			in.Ordinal = r.ordinal // a write has passed the one before
		case begun.Wait > 0:
			r.view.enter(ctx, "waiting: "+begun.Reason)
			r.pause(ctx, begun.Wait)
		default:
			r.adopt(ctx, begun.LiveAttempt)
			r.judge.Attempts = max(r.judge.Attempts+1, begun.Number)
			r.next = nextAttempt{}
			return stay, nil
		}
	}
}

// startAgent starts the agent. The activity writes the assignment too, which is the outcome of the start.
func (r *taskRun) startAgent(ctx workflow.Context) (stage, error) {
	in := contract.StartAgentInput{SandboxRef: r.ref(), Assignment: r.projection(func(p *contract.Projection) {
		p.Status, p.SandboxID, p.Settle = r.assigned(), r.attempt.SandboxID, nil
	})}
	var saved contract.Projected
	failure := r.step(ctx, r.spawnCall(contract.StartAgent), in, &saved)
	switch {
	case saved.Fenced:
		return stay, errFenced
	case failure == nil:
		now := workflow.Now(ctx)
		r.attempt.Assigned, r.judge.Status = true, in.Assignment.Status
		r.watch.Assigned, r.watch.LastHeartbeat, r.watch.LastWork = now, now, now
		r.relayEvents(ctx)
	}
	if next, err := r.afterStep(ctx, failure); next != stay || err != nil {
		return next, err
	}
	return running, nil
}

// kind is the kind of the attempt that begins next.
func (r *taskRun) kind() string {
	switch {
	case r.judge.Stage == task.StageValidate:
		return task.KindValidation
	case r.next.kind != "":
		return r.next.kind
	case r.judge.Attempts > 0:
		return kindResumed
	}
	return kindFirst
}

// assigned is the status of a task whose agent is started.
func (r *taskRun) assigned() task.Status {
	if r.attempt.Validates {
		return task.StatusValidating
	}
	return task.StatusAssigned
}

// adopt makes an attempt the task's current one.
func (r *taskRun) adopt(ctx workflow.Context, a contract.LiveAttempt) {
	now := workflow.Now(ctx)
	r.attempt, r.loaded.Saved = &a, false
	r.judge.SandboxID = a.SandboxID
	r.watch = contract.WatchState{Assigned: now, LastHeartbeat: now, LastWork: now, Started: a.Started}
}

// catchUp reads the events that a reset of the previous run took from it.
func (r *taskRun) catchUp(ctx workflow.Context, live *contract.LiveAttempt) {
	if live != nil && r.attempt != nil && live.SandboxID == r.attempt.SandboxID && live.LastSequence > r.watch.Seen {
		r.loadEvents(ctx)
	}
}

// spawnCall is a call that starts something in the sandbox, within the spawn timeout.
func (r *taskRun) spawnCall(name string) call {
	c := r.sandboxCall(name)
	c.within = r.loaded.Settings.SpawnTimeout
	return c
}

// sandboxCall is a call that runs where the sandbox is.
func (r *taskRun) sandboxCall(name string) call {
	return call{name: name, queue: r.attempt.Queue, summary: "attempt " + strconv.Itoa(r.attempt.Number)}
}

func (r *taskRun) ref() contract.SandboxRef {
	return contract.SandboxRef{TaskID: r.id, SandboxID: r.attempt.SandboxID, Attempt: r.attempt.Number}
}

// timeLeft is the time until t; zero if t has passed.
func timeLeft(ctx workflow.Context, t time.Time) time.Duration {
	return max(t.Sub(workflow.Now(ctx)), 0)
}
