package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// watchAttempt follows the agent until a fact ends the attempt. Its timer is lazy: it runs
// for its full length and then looks how much is left.
func (r *taskRun) watchAttempt(ctx workflow.Context) (task.Effects, error) {
	r.view.enter(ctx, "watching the agent")
	for {
		eff, over, err := r.judgeWaiting(ctx, false)
		if over || err != nil {
			return eff, err
		}
		if r.judge.Status == task.StatusRunning {
			r.watch.Started = true
		}
		if r.mayContinue(ctx) {
			if err := r.continueAsNew(ctx); err != nil {
				return eff, err
			}
			continue
		}
		_, due := r.question()
		ripe := func() bool { return r.inbox.waiting(false) || r.mayContinue(ctx) }
		_, err = workflow.AwaitWithTimeout(ctx, due.Sub(workflow.Now(ctx)), func() bool { return ripe() || r.hinted() })
		if err != nil {
			return eff, err
		}
		if ripe() {
			continue
		}
		if eff, over, err := r.look(ctx); over || err != nil {
			return eff, err
		}
	}
}

// question answers what is to be asked next, and when.
func (r *taskRun) question() (string, time.Time) {
	s, w := r.loaded.Settings, r.watch
	ask, due := contract.AskHeartbeat, w.LastBeat.Add(s.HeartbeatTimeout)
	earlier := func(q string, at time.Time) {
		if at.Before(due) {
			ask, due = q, at
		}
	}
	if w.Started {
		earlier(contract.AskNoWork, w.LastWork.Add(s.NoWorkTimeout))
	} else {
		ask, due = contract.AskStartup, w.Assigned.Add(s.StartupTimeout)
	}
	if !w.Waiting.IsZero() {
		earlier(contract.AskIdle, w.Waiting.Add(s.IdleTimeout))
	}
	if due.Before(w.NotBefore) {
		due = w.NotBefore
	}
	if !w.Finished.IsZero() { // it is known to be done, so no look at it tells more
		ask, due = askVerdict, w.Finished.Add(min(s.HeartbeatTimeout, verdictWait))
	}
	earlier(askTooLong, w.Assigned.Add(s.AttemptTimeout+w.Frozen))
	if r.hinted() {
		return contract.AskEnded, zeroTime
	}
	return ask, due
}

// hinted reports whether a look is asked for that could tell something.
func (r *taskRun) hinted() bool { return r.watch.Hinted && r.watch.Finished.IsZero() }

// askTooLong is no question to the world: the longest duration is a limit that a person set.
const askTooLong = "too_long"

// look is what a fired timer does: it asks, and only an answer that says that the attempt is
// over ends it.
func (r *taskRun) look(ctx workflow.Context) (eff task.Effects, over bool, err error) {
	question, due := r.question()
	if due.After(workflow.Now(ctx)) {
		return eff, false, nil
	}
	if question == askTooLong && (r.wasFrozen(ctx) || r.inbox.waiting(false)) {
		return eff, false, nil
	}
	if question == askTooLong {
		f := fact{Fact: task.Fact{Kind: task.FactTooLong, SandboxID: r.attempt.SandboxID, OK: r.watch.Unknown == 0}}
		f.reason, f.endReason = "the attempt reached its longest duration", task.Reason{Code: task.ReasonMaxDuration}
		if r.watch.Unknown > 0 && r.watch.Doubt != "" {
			f.reason += "; the last look said: " + r.watch.Doubt
		}
		if f.OK && r.reviews(ctx) {
			f.Kind = task.FactValidatorLimit
		}
		eff = r.decide(f)
		return eff, decisive(eff), nil
	}
	if question == askVerdict {
		if r.verdictDue(ctx) {
			return eff, false, nil
		}
		eff = r.unspoken()
		return eff, decisive(eff), nil
	}
	r.watch.Hinted = false
	if question != contract.AskEnded { // which a tail that has ended asks for
		r.tail(ctx) // a person may have ended it
	}
	seen := r.observe(ctx, question)
	if seen.Head > r.watch.Seen {
		r.readFacts(ctx)
	}
	if r.inbox.waiting(false) { // what the agent said itself counts first, also if it came while we looked
		return eff, false, nil
	}
	return r.judgeObservation(ctx, question, seen)
}

// wasFrozen reports whether the sandbox was frozen for a time that is not counted yet. By that the attempt
// may last longer. Runs that ended such an attempt before replay without the question.
func (r *taskRun) wasFrozen(ctx workflow.Context) bool {
	if workflow.GetVersion(ctx, "frozen-time", workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return false
	}
	var box contract.LoadedSandbox
	ask := call{name: contract.LoadSandbox, summary: "frozen time"}
	if err := ask.get(ctx, r.ref(), &box); err != nil || box.Frozen <= r.watch.Frozen {
		return false
	}
	r.watch.Frozen = box.Frozen
	return true
}

// observe asks the store, the provider and the sandbox; no answer is unknown.
func (r *taskRun) observe(ctx workflow.Context, question string) contract.Observation {
	r.view.enter(ctx, "looking: "+question)
	defer r.view.enter(ctx, "watching the agent")
	var seen contract.Observation
	c := r.sandboxCall(contract.CheckAgent)
	c.summary = question
	err := r.step(ctx, c, contract.CheckAgentInput{
		SandboxRef: r.ref(), Question: question,
		Threshold: r.threshold(question), Tool: r.loaded.Settings.ToolTimeout,
	}, &seen)
	if err != nil {
		return contract.Observation{Seen: contract.ObservedUnknown, Reason: sentence(err)}
	}
	return seen
}

func (r *taskRun) threshold(question string) time.Duration {
	switch question {
	case contract.AskStartup:
		return r.loaded.Settings.StartupTimeout
	case contract.AskNoWork:
		return r.loaded.Settings.NoWorkTimeout
	case contract.AskIdle:
		return r.loaded.Settings.IdleTimeout
	}
	return r.loaded.Settings.HeartbeatTimeout
}

// judgeObservation turns what was seen into a fact, or into the time of the next look.
func (r *taskRun) judgeObservation(ctx workflow.Context, question string, seen contract.Observation) (eff task.Effects, over bool, err error) {
	now := workflow.Now(ctx)
	switch seen.Seen {
	case contract.ObservedWorking:
		r.watch.Unknown = 0
		r.watch.NotBefore = now.Add(max(seen.Next, minLook))
		return eff, false, nil
	case contract.ObservedStuck, contract.ObservedSilent, contract.ObservedExited, contract.ObservedGone, contract.ObservedIdle:
		f := fact{Fact: task.Fact{Kind: task.FactObserved, SandboxID: r.attempt.SandboxID, Class: seen.Class}, reason: seen.Reason, endReason: seen.EndReason}
		f.idle = idleOf(seen.Seen)
		if f.Class == task.ClassNone {
			f.Class = task.ClassInfrastructure
		}
		if f.reason == "" {
			f.reason = question + ": " + seen.Seen
		}
		eff = r.decide(f)
		r.watch.NotBefore = now.Add(r.loaded.Settings.UnknownRetry) // if it changes nothing
		return eff, decisive(eff), nil
	}
	if question == contract.AskEnded {
		return eff, false, nil // the timers ask on as they would have
	}
	r.watch.Unknown++
	r.watch.Doubt = seen.Reason
	r.watch.NotBefore = now.Add(r.loaded.Settings.UnknownRetry << min(r.watch.Unknown-1, 5))
	return eff, false, nil
}

func idleOf(seen string) string {
	switch seen {
	case contract.ObservedStuck:
		return contract.IdleStuck
	case contract.ObservedIdle:
		return contract.IdleTimeout
	}
	return ""
}

// minLook keeps an observation that says "working" from being asked again at once.
const minLook = time.Second
