package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// applyDigest applies a digest of the current sandbox. It drops duplicates and digests of other sandboxes, and reads a gap
// from the store.
func (r *taskRun) applyDigest(ctx workflow.Context, d contract.Digest) {
	if r.attempt == nil || d.SandboxID != r.attempt.SandboxID || d.To <= r.watch.Seen {
		return
	}
	if d.From > r.watch.Seen+1 || !believable(d) {
		r.loadEvents(ctx)
		return
	}
	r.absorb(ctx, d)
}

// believable reports whether the counters of a digest add up, as those of the relay do. A digest that a user signaled by
// hand may name events that do not exist; omoi then reads the store instead.
func believable(d contract.Digest) bool {
	var events int64
	for _, class := range workflow.DeterministicKeys(d.Counters) {
		events += d.Counters[class]
	}
	return events == d.To
}

// loadEvents reads the stored events that are not applied yet.
func (r *taskRun) loadEvents(ctx workflow.Context) {
	sandboxID := r.attempt.SandboxID
	var d contract.Digest
	in := contract.LoadEventsInput{SandboxID: sandboxID, After: r.watch.Seen}
	if err := (call{name: contract.LoadEvents, summary: "read missed events"}).get(ctx, in, &d); err != nil {
		workflow.GetLogger(ctx).Warn("load events failed", "sandbox_id", sandboxID, "error", err)
		return
	}
	if r.attempt == nil || r.attempt.SandboxID != sandboxID || d.To <= r.watch.Seen {
		return
	}
	if d.VerdictDue && r.attempt.Validates { // the end of a validator must not overtake its verdict
		return
	}
	r.absorb(ctx, d)
}

// absorb updates the watch and queues new milestones.
func (r *taskRun) absorb(ctx workflow.Context, d contract.Digest) {
	now := workflow.Now(ctx)
	if d.LastHeartbeat.After(r.watch.HeartbeatSeen) {
		r.watch.LastHeartbeat, r.watch.HeartbeatSeen = now, d.LastHeartbeat
	}
	if d.LastWork.After(r.watch.WorkSeen) {
		r.watch.LastWork, r.watch.WorkSeen = now, d.LastWork
		if d.LastType != event.AgentWaiting {
			r.watch.Waiting, r.watch.Asked = time.Time{}, false
		}
	}
	r.watch.Unknown = 0
	for _, m := range d.Milestones {
		if m.Sequence > r.watch.Seen {
			r.milestone(ctx, m)
		}
	}
	r.watch.Seen = d.To
	r.view.sawEvent(ctx, d)
}

// milestone queues the fact of an event on which the workflow acts.
func (r *taskRun) milestone(ctx workflow.Context, m contract.Milestone) {
	f := fact{reason: m.StopReason, endReason: m.EndReason, errorID: m.ErrorID, resetAt: m.ResetAt}
	f.SandboxID, f.OK, f.Class = r.attempt.SandboxID, m.OK, m.Class
	switch m.Type {
	case event.AgentStarted:
		f.Kind = task.FactStarted
		r.watch.Started = r.watch.Started || r.attempt.Validates
	case event.AgentCompleted:
		f = r.completion(ctx, m, f)
	case event.ContinuousCompleted:
		f.Kind = task.FactContinuousCompleted
		r.validatorDone(ctx)
	case event.AgentError, event.AgentFailed:
		f = r.agentFailure(m, f)
	case event.AgentWaiting:
		r.watch.Waiting = workflow.Now(ctx)
		r.watch.Asked = m.Question && workflow.GetVersion(ctx, "question", workflow.DefaultVersion, 1) != workflow.DefaultVersion
		return
	default:
		return
	}
	r.inbox.facts = append(r.inbox.facts, f)
}

// agentFailure returns the fact for a failure that an agent reports.
func (r *taskRun) agentFailure(m contract.Milestone, f fact) fact {
	f.Kind = task.FactAgentFailed
	f.Class = cmp.Or(f.Class, task.ClassAgentError)
	switch {
	case !r.attempt.Validates:
	case m.EndReason.Code == task.ReasonInterrupted:
		f.Kind, f.errorID, f.reason = task.FactObserved, "", task.WasInterrupted+", and no message came that says how to go on."
	case m.Class == task.ClassStopped, !f.Class.Retryable():
		f.Kind = task.FactValidatorLimit
	}
	return f
}
