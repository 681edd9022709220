package workflows

import (
	"strconv"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// nextAttempt is what the attempt before leaves to the next one.
type nextAttempt struct {
	kind       string
	feedbackID string
	delay      time.Duration
}

// Kinds of attempts.
const (
	kindFirst       = "first"
	kindRetry       = "retry"
	kindRevision    = "revision"
	kindReplacement = "replacement"
	kindResumed     = "resumed"
	kindValidation  = task.KindValidation
)

// runAttempt begins an attempt, unless one lives already, and watches it to its end.
func (r *taskRun) runAttempt(ctx workflow.Context) (task.Effects, error) {
	if r.attempt == nil {
		if eff, over, err := r.begin(ctx); over || err != nil {
			return eff, err
		}
	}
	if !r.attempt.Assigned {
		if eff, over, err := r.spawn(ctx); over || err != nil {
			return r.leave(ctx, eff, err)
		}
	}
	eff, err := r.watchAttempt(ctx)
	return r.leave(ctx, eff, err)
}

// begin takes the next attempt from the store.
func (r *taskRun) begin(ctx workflow.Context) (eff task.Effects, over bool, err error) {
	r.pause(ctx, r.next.delay)
	kind := r.kind()
	r.ordinal++
	in := contract.BeginAttemptInput{
		TaskID: r.id, FirstRunID: r.first, Ordinal: r.ordinal, Kind: kind, FeedbackID: r.next.feedbackID,
	}
	for {
		if eff, over, err = r.people(ctx); over || err != nil {
			return r.between(ctx, eff, over, err)
		}
		r.view.enter(ctx, "beginning an attempt")
		var begun contract.BeginAttemptResult
		if err = (call{name: contract.BeginAttempt, summary: kind}).get(ctx, in, &begun); err != nil {
			return r.fail(ctx, err), true, nil
		}
		switch {
		case begun.Fenced: // a reset to mid-run: projecting asks whether this run is the current one
			if err = r.project(ctx, nil); err != nil {
				return eff, false, err
			}
		case begun.Wait > 0:
			r.view.enter(ctx, "waiting: "+begun.Reason)
			r.pause(ctx, begun.Wait)
		default:
			r.adopt(ctx, begun.LiveAttempt)
			r.judge.Attempts = max(r.judge.Attempts+1, begun.Number)
			r.next = nextAttempt{}
			return eff, false, nil
		}
	}
}

// kind is that of the attempt that begins next.
func (r *taskRun) kind() string {
	switch {
	case r.judge.Handed:
		return kindValidation
	case r.next.kind != "":
		return r.next.kind
	case r.judge.Attempts > 0:
		return kindResumed
	}
	return kindFirst
}

// adopt makes an attempt the task's current one.
func (r *taskRun) adopt(ctx workflow.Context, a contract.LiveAttempt) {
	now := workflow.Now(ctx)
	r.attempt, r.loaded.Saved = &a, false
	r.judge.SandboxID = a.SandboxID
	r.watch = contract.WatchState{Assigned: now, LastBeat: now, LastWork: now, Started: a.Started}
}

// resume goes on with an attempt that lived when the task was loaded, and reads what it missed.
func (r *taskRun) resume(ctx workflow.Context, live contract.LiveAttempt) {
	r.adopt(ctx, live)
	r.tail(ctx)
	if live.Head > 0 {
		r.readFacts(ctx)
	}
}

// catchUp reads what a reset of the run before took from it: digests that were there already.
func (r *taskRun) catchUp(ctx workflow.Context, live *contract.LiveAttempt) {
	if live != nil && r.attempt != nil && live.SandboxID == r.attempt.SandboxID && live.Head > r.watch.Seen {
		r.readFacts(ctx)
	}
}

// spawn makes the sandbox, starts the agent and writes the assignment.
func (r *taskRun) spawn(ctx workflow.Context) (eff task.Effects, over bool, err error) {
	r.view.enter(ctx, "spawning the sandbox")
	var made contract.SpawnedSandbox
	for _, c := range []struct {
		call
		out any
	}{
		{r.sandboxCall(contract.EnsureSandbox), &made},
		{r.sandboxCall(contract.StartAgent), nil},
	} {
		c.within = r.loaded.Settings.SpawnTimeout
		serr := r.step(ctx, c.call, r.ref(), c.out)
		if eff, over, err = r.people(ctx); over || err != nil {
			return eff, over, err
		}
		if serr != nil {
			return r.fail(ctx, serr), true, nil
		}
	}
	r.attempt.Tail = made.Tail
	r.tail(ctx)
	r.attempt.Assigned = true
	r.judge.Status = r.assigned()
	r.watch.Assigned = workflow.Now(ctx)
	r.watch.LastBeat, r.watch.LastWork = r.watch.Assigned, r.watch.Assigned
	return eff, false, r.project(ctx, nil)
}

// leave brings an attempt to its end when another one follows. Publish, park and finish do
// it themselves, since they write more with it.
func (r *taskRun) leave(ctx workflow.Context, eff task.Effects, err error) (task.Effects, error) {
	if err != nil || eff.Action != task.ActionBegin {
		return eff, err
	}
	r.next = nextAttempt{kind: kindRetry, feedbackID: r.last.feedbackID, delay: r.backoff(eff.Class)}
	outcome := "failed"
	switch {
	case eff.Status == task.StatusNeedsRevision:
		r.next.kind, outcome = kindRevision, r.outcome("revised")
	case r.last.Kind == task.FactHandedIn:
		outcome = "completed"
	case r.last.Kind == task.FactReplace:
		r.next.kind, outcome = kindReplacement, "replaced"
	}
	if r.next.feedbackID == "" {
		r.next.feedbackID = r.last.errorID
	}
	return eff, r.endAttempt(ctx, outcome, func(p *contract.Projection) {
		p.Class, p.Reason, p.ErrorID, p.Quotes = eff.Class, r.last.sentence(), r.last.errorID, r.last.quotes
	})
}

// endAttempt writes the end of the live attempt, if there is one, and hands its sandbox over.
func (r *taskRun) endAttempt(ctx workflow.Context, outcome string, edit func(*contract.Projection)) error {
	ended := r.attempt
	r.attempt = nil
	r.judge.SandboxID = ""
	err := r.project(ctx, func(p *contract.Projection) {
		edit(p)
		p.EndReason = r.last.endReason
		if ended != nil {
			p.Ended = &contract.AttemptEnd{Number: ended.Number, Outcome: outcome, Class: r.endClass(p.Class), Reason: p.Reason, EndReason: p.EndReason, Idle: r.last.idle}
		}
	})
	since := workflow.Now(ctx)
	if err == nil && ended != nil {
		r.view.enter(ctx, "cleaning up")
		err = r.handOver(ctx, *ended, outcome)
	}
	if err == nil && r.judge.Status == task.StatusCompleted {
		err = r.lastLooks(ctx, since.Add(r.loaded.Settings.CleanupWait))
	}
	return err
}

// endClass is why an attempt has ended. One whose work is done and could not be published is told from one that did not get to its
// end, whatever kept it from being published: a retry goes on from there.
func (r *taskRun) endClass(class task.FailureClass) task.FailureClass {
	if r.last.Kind == task.FactPublishFailed {
		return task.ClassPublish
	}
	return class
}

// sandboxCall is a call that runs where the sandbox is.
func (r *taskRun) sandboxCall(name string) call {
	return call{name: name, queue: r.attempt.Queue, summary: "attempt " + strconv.Itoa(r.attempt.Number)}
}

func (r *taskRun) ref() contract.SandboxRef {
	return contract.SandboxRef{TaskID: r.id, SandboxID: r.attempt.SandboxID, Attempt: r.attempt.Number}
}
