package workflows

import (
	"strconv"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// nextAttempt is the kind and the feedback of the next attempt, and the checkpoint with which it begins.
type nextAttempt struct {
	kind       string
	feedbackID string
	checkpoint string // empty: the newest
}

// Kinds of attempts.
const (
	kindFirst       = "first"
	kindRetry       = "retry"
	kindRevision    = "revision"
	kindReplacement = "replacement"
	kindResumed     = "resumed"
	kindRewound     = "rewound"
	kindForked      = "forked"
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

// beginAttempt creates the next attempt in the store, and waits as long as no host has capacity for its sandbox.
func (r *taskRun) beginAttempt(ctx workflow.Context) (stage, error) {
	r.ordinal++
	in := contract.BeginAttemptInput{
		TaskID: r.id, FirstRunID: r.first, Ordinal: r.ordinal, Kind: r.kind(), FeedbackID: r.next.feedbackID,
		Checkpoint: r.next.checkpoint,
	}
	for {
		if next, err := r.applyUserFacts(ctx); next != stay || err != nil {
			return next, err
		}
		var begun contract.BeginAttemptResult
		if err := (call{name: contract.BeginAttempt, summary: r.summaryOf(in)}).get(ctx, in, &begun); err != nil {
			return r.failed(ctx, err), nil
		}
		switch {
		case begun.Fenced: // a reset to mid-run: writing the state asks whether this run is the current one
			if _, err := r.saveState(ctx, nil); err != nil {
				return stay, err
			}
			r.ordinal++
			in.Ordinal = r.ordinal // the write used a newer ordinal
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

// summaryOf returns the summary of an attempt for the Web UI.
func (r *taskRun) summaryOf(in contract.BeginAttemptInput) string {
	switch {
	case in.Kind == kindForked:
		return in.Kind + " from " + r.loaded.ForkedFrom
	case in.Checkpoint != "":
		return in.Kind + " to " + in.Checkpoint
	}
	return in.Kind
}

// startAgent starts the agent. The same activity writes the assignment to the store.
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

// kind returns the kind of the next attempt.
func (r *taskRun) kind() string {
	switch {
	case r.judge.Stage == task.StageValidate:
		return task.KindValidation
	case r.next.kind != "":
		return r.next.kind
	case r.judge.Attempts > 0:
		return kindResumed
	case r.loaded.ForkedFrom != "":
		return kindForked
	}
	return kindFirst
}

// assigned returns the status of a task whose agent was started.
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

// catchUp reads the events that this run missed because the previous run was reset.
func (r *taskRun) catchUp(ctx workflow.Context, live *contract.LiveAttempt) {
	if live != nil && r.attempt != nil && live.SandboxID == r.attempt.SandboxID && live.LastSequence > r.watch.Seen {
		r.loadEvents(ctx)
	}
}

// spawnCall returns a call on the sandbox's task queue that must end within the spawn timeout.
func (r *taskRun) spawnCall(name string) call {
	c := r.sandboxCall(name)
	c.within = r.loaded.Settings.SpawnTimeout
	return c
}

// sandboxCall returns a call on the sandbox's task queue.
func (r *taskRun) sandboxCall(name string) call {
	return call{name: name, queue: r.attempt.Queue, summary: "attempt " + strconv.Itoa(r.attempt.Number)}
}

func (r *taskRun) ref() contract.SandboxRef {
	return contract.SandboxRef{TaskID: r.id, SandboxID: r.attempt.SandboxID, Attempt: r.attempt.Number}
}

// timeLeft returns the time until t, or zero if t has passed.
func timeLeft(ctx workflow.Context, t time.Time) time.Duration {
	return max(t.Sub(workflow.Now(ctx)), 0)
}
