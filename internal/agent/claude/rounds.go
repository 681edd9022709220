package claude

import (
	"context"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/task"
)

// loop is continuous mode as it stands.
func (t *talk) loop() *continuous.Loop {
	return &continuous.Loop{Env: t.env, Asks: continuous.AsksOf(t.vars), Limits: t.limits.Limits, State: &t.place.State, Now: t.standing}
}

func (t *talk) standing() continuous.Standing {
	now := t.rec.now()
	return continuous.Standing{Cost: now.cost, Bill: now.bill, Session: t.place.SessionID, Turns: now.Turn, Files: now.Files, Said: now.said}
}

// round begins an iteration of continuous mode, if this is one.
func (t *talk) round(text string) string {
	if !t.env.Config.Continuous {
		return text
	}
	text += "\n\nWhen all of it is done, and only then, end your last message with a line that says " + t.limits.Signal + "."
	t.place.TurnsBefore = t.rec.now().Turn
	t.loop().Begin(text)
	return text
}

// judgeRound decides what follows an iteration: another one on the given text, or the end.
func (t *talk) judgeRound(ctx context.Context, end *turn) (*step, agent.Result, error) {
	f := t.failure(end)
	switch {
	case end.stop == continuous.StopTime:
		return nil, t.finish(continuous.StopTime, continuous.Work{}), nil
	case f != nil && f.reason == continuous.StopCost:
		return nil, t.finish(continuous.StopCost, continuous.Work{}), nil
	case f != nil && f.class != task.ClassAgentError && f.kind != "max_turns":
		return nil, t.fail(f), nil
	case f != nil && f.kind != "max_turns":
		return t.failedRound(f)
	}
	t.place.Failed = 0
	if f != nil || !strings.Contains(end.result.Result, t.limits.Signal) {
		return t.another(continuous.Work{}, "Go on with what is left of the task.")
	}
	return t.signalled(ctx, end)
}

// signalled validates the work of an agent that says that it is done.
func (t *talk) signalled(ctx context.Context, end *turn) (*step, agent.Result, error) {
	t.loop().Signalled()
	w, err := t.validate(ctx, end)
	switch {
	case err != nil:
		return nil, agent.Result{}, err
	case end.interrupted:
		return t.stand(ctx)
	case end.stop != "":
		return nil, t.finish(end.stop, w), nil
	}
	t.loop().Validated(w)
	if len(w.Wrong) > 0 {
		return t.another(w, "The work is not accepted yet:\n\n"+w.Feedback())
	}
	return t.accepted(ctx, end, w)
}

// accepted ends continuous mode with work that passes, unless somebody has something to add, and
// there is a round left for it. What is said too late does not take back that the work passes.
func (t *talk) accepted(ctx context.Context, end *turn, w continuous.Work) (*step, agent.Result, error) {
	next, f, err := t.addition(ctx, end)
	switch {
	case err != nil:
		return nil, agent.Result{}, err
	case end.interrupted:
		return t.stand(ctx)
	case next == nil && f != nil && f.reason == continuous.StopCost:
		return nil, t.finish(continuous.StopCost, w), nil
	case next == nil && f != nil:
		return t.failedRound(f)
	}
	t.loop().Completed(w)
	t.save()
	if next != nil && t.loop().Over() == "" {
		return next, agent.Result{}, nil
	}
	if next != nil {
		t.later = slices.Insert(t.later, 0, next.of)
	}
	t.completed(end, w)
	return nil, t.finish(continuous.StopPassed, w), nil
}

// addition is what is said of work that passes, before the program has ended.
func (t *talk) addition(ctx context.Context, end *turn) (*step, *failed, error) {
	t.save()
	if t.loop().Over() == "" {
		if next, err := t.linger(ctx, min(t.env.Patience(), t.limits.Left(&t.place.State))); next != nil || err != nil {
			return next, nil, err
		}
	}
	return t.conclude(ctx, end)
}

// another ends an iteration that was not the last, unless there are no more of them.
func (t *talk) another(w continuous.Work, text string) (*step, agent.Result, error) {
	t.loop().Completed(w)
	return t.unlessOver(w, text)
}

func (t *talk) failedRound(f *failed) (*step, agent.Result, error) {
	if t.loop().Failed(f.text, f.kind) {
		return nil, t.finish(continuous.StopErrors, continuous.Work{}), nil
	}
	return t.unlessOver(continuous.Work{}, "The last round failed: "+clip(f.text, resultBytes)+"\n\nGo on with the task.")
}

func (t *talk) unlessOver(w continuous.Work, text string) (*step, agent.Result, error) {
	t.save()
	if reason := t.loop().Over(); reason != "" {
		return nil, t.finish(reason, w), nil
	}
	return &step{text: text}, agent.Result{}, nil
}

// finish reports the end of continuous mode.
func (t *talk) finish(reason string, w continuous.Work) agent.Result {
	t.save()
	return t.loop().Finish(reason, w)
}
