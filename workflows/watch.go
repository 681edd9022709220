package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// watchAttempt watches the agent until a fact ends the attempt. A timer is not restarted for each event: when it fires,
// watchAttempt checks whether anything is due.
func (r *taskRun) watchAttempt(ctx workflow.Context) (stage, error) {
	for {
		if next, err := r.applyFacts(ctx, anyFact); next != stay || err != nil {
			return next, err
		}
		r.watch.Started = r.watch.Started || r.judge.Status == task.StatusRunning
		if r.mayContinue(ctx) {
			if err := r.continueAsNew(ctx); err != nil {
				return stay, err
			}
			continue
		}
		ready := func() bool { return r.inbox.has(anyFact) || r.mayContinue(ctx) }
		if err := r.awaitDue(ctx, func() bool { return ready() || r.checkRequested() }); err != nil {
			return stay, err
		}
		if ready() {
			continue
		}
		if next := r.check(ctx); next != stay {
			return next, nil
		}
	}
}

// awaitDue waits for a condition, or until the next check is due. It reuses a pending timer that fires before that, because one
// early wake-up costs less than a new timer for each event.
func (r *taskRun) awaitDue(ctx workflow.Context, condition func() bool) error {
	_, due := r.question()
	if r.timer == nil || r.timerAt.After(due) {
		now := workflow.Now(ctx)
		r.timerAt = now.Add(min(timeLeft(ctx, due), r.loaded.Settings.HeartbeatTimeout))
		r.timer = workflow.NewTimerWithOptions(ctx, r.timerAt.Sub(now), workflow.TimerOptions{Summary: "next check of the agent"})
	}
	err := workflow.Await(ctx, func() bool { return condition() || r.timer.IsReady() })
	if r.timer.IsReady() {
		r.timer = nil
	}
	return err
}

// question returns the next question to ask, and when it is due.
func (r *taskRun) question() (string, time.Time) {
	s, w := r.loaded.Settings, r.watch
	ask, due := contract.AskHeartbeat, w.LastHeartbeat.Add(s.HeartbeatTimeout)
	earlier := func(q string, at time.Time) {
		if at.Before(due) {
			ask, due = q, at
		}
	}
	if w.Started && !w.Asked {
		earlier(contract.AskNoWork, w.LastWork.Add(s.NoWorkTimeout))
	} else if !w.Started {
		ask, due = contract.AskStartup, w.Assigned.Add(s.StartupTimeout)
	}
	if !w.Waiting.IsZero() {
		earlier(contract.AskIdle, w.Waiting.Add(r.threshold(contract.AskIdle)))
	}
	if due.Before(w.NotBefore) {
		due = w.NotBefore
	}
	if !w.Finished.IsZero() { // the validator is done, so that a check would find nothing new
		ask, due = askVerdict, w.Finished.Add(min(s.HeartbeatTimeout, verdictWait))
	}
	earlier(askTooLong, w.Assigned.Add(s.AttemptTimeout+w.Frozen))
	if r.checkRequested() {
		return contract.AskEnded, time.Time{}
	}
	return ask, due
}

// checkRequested reports whether a check was requested and could find something new.
func (r *taskRun) checkRequested() bool { return r.watch.CheckRequested && r.watch.Finished.IsZero() }

// askTooLong needs no check: the maximum duration is a limit that a user set.
const askTooLong = "too_long"

// check asks the question that is due. Only an observation that the attempt is over ends the attempt.
func (r *taskRun) check(ctx workflow.Context) stage {
	question, due := r.question()
	if due.After(workflow.Now(ctx)) {
		return stay
	}
	switch question {
	case askTooLong:
		return r.checkDuration(ctx)
	case askVerdict:
		if r.verdictDue(ctx) {
			return stay
		}
		return r.endWithoutVerdict()
	}
	r.watch.CheckRequested = false
	if question != contract.AskEnded { // a pull relay that has ended requested this check
		r.relayEvents(ctx) // a user may have ended the pull relay
	}
	seen := r.observe(ctx, question)
	if seen.LastSequence > r.watch.Seen {
		r.loadEvents(ctx)
	}
	if r.inbox.has(anyFact) { // a report of the agent takes precedence, also if it arrived during the check
		return stay
	}
	return r.judgeObservation(ctx, question, seen)
}

// checkDuration ends an attempt that has reached its maximum duration. Time in which the sandbox was frozen does not count.
func (r *taskRun) checkDuration(ctx workflow.Context) stage {
	if r.wasFrozen(ctx) || r.inbox.has(anyFact) {
		return stay
	}
	if r.watch.Asked {
		return stageAfter(r.decide(r.asked()))
	}
	f := fact{
		Fact:   task.Fact{Kind: task.FactTooLong, SandboxID: r.attempt.SandboxID, OK: r.watch.Unknown == 0},
		reason: "the attempt exceeded its maximum duration", endReason: task.Reason{Code: task.ReasonMaxDuration},
	}
	if !f.OK && r.watch.Uncertainty != "" {
		f.reason += "; the last check said: " + r.watch.Uncertainty
	}
	if f.OK && r.attempt.Validates {
		f.Kind = task.FactValidatorLimit
	}
	return stageAfter(r.decide(f))
}

// wasFrozen reports whether the sandbox was frozen for longer than r.watch has recorded, and records it.
func (r *taskRun) wasFrozen(ctx workflow.Context) bool {
	var sandbox contract.LoadedSandbox
	load := call{name: contract.LoadSandbox, summary: "frozen time"}
	if err := load.get(ctx, r.ref(), &sandbox); err != nil || sandbox.Frozen <= r.watch.Frozen {
		return false
	}
	r.watch.Frozen = sandbox.Frozen
	return true
}

// observe checks the agent in the store, at the provider and in the sandbox. A failed check is an unknown observation.
func (r *taskRun) observe(ctx workflow.Context, question string) contract.Observation {
	r.view.enter(ctx, "checking: "+question)
	defer r.view.enter(ctx, "")
	var seen contract.Observation
	c := r.sandboxCall(contract.CheckAgent)
	c.summary = question
	err := r.step(ctx, c, contract.CheckAgentInput{
		SandboxRef: r.ref(), Question: question,
		Threshold: r.threshold(question), Tool: r.loaded.Settings.ToolTimeout,
	}, &seen)
	if err != nil {
		return contract.Observation{Seen: contract.ObservedUnknown, Reason: sentence(err), EndReason: detailsOf(err).EndReason}
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
		if r.watch.Asked {
			return cmp.Or(r.loaded.Settings.QuestionWait, r.loaded.Settings.IdleTimeout)
		}
		return r.loaded.Settings.IdleTimeout
	}
	return r.loaded.Settings.HeartbeatTimeout
}

// judgeObservation turns an observation into a fact, or into the time of the next check.
func (r *taskRun) judgeObservation(ctx workflow.Context, question string, seen contract.Observation) stage {
	now := workflow.Now(ctx)
	switch seen.Seen {
	case contract.ObservedWorking:
		r.watch.Unknown = 0
		r.watch.NotBefore = now.Add(max(seen.Next, minCheck))
		return stay
	case contract.ObservedStuck, contract.ObservedSilent, contract.ObservedExited, contract.ObservedGone, contract.ObservedIdle:
		next := stageAfter(r.decide(r.observed(question, seen)))
		r.watch.NotBefore = now.Add(r.loaded.Settings.UnknownRetry) // if it changes nothing
		return next
	}
	if question == contract.AskEnded {
		return stay // the regular checks continue on schedule
	}
	r.watch.Unknown++
	r.watch.Uncertainty = seen.Reason
	r.watch.NotBefore = now.Add(r.loaded.Settings.UnknownRetry << min(r.watch.Unknown-1, 5))
	return stay
}

// observed returns the fact that a check found the attempt over, or that an agent waits for an answer for too long.
func (r *taskRun) observed(question string, seen contract.Observation) fact {
	if r.watch.Asked && seen.Seen == contract.ObservedIdle {
		return r.asked()
	}
	return fact{
		Fact: task.Fact{
			Kind: task.FactObserved, SandboxID: r.attempt.SandboxID, Class: cmp.Or(seen.Class, task.ClassInfrastructure),
		},
		reason: cmp.Or(seen.Reason, question+": "+seen.Seen), endReason: seen.EndReason, idle: idleOf(seen.Seen),
	}
}

// asked returns the fact that suspends the task for the question of its agent.
func (r *taskRun) asked() fact {
	return fact{Fact: task.Fact{Kind: task.FactAsked, SandboxID: r.attempt.SandboxID}, endReason: task.Reason{Code: task.ReasonQuestion}}
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

// minCheck is the minimum time between an observation "working" and the next check.
const minCheck = time.Second
