package command

import (
	"context"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/task"
)

// judgeRound decides what follows a round of continuous mode. A program that neither speaks nor hears has one: its next
// chance is the next attempt, which is given what went wrong.
func (r *run) judgeRound(ctx context.Context, e *end) (*step, agent.Result, error) {
	plain := !r.talks()
	if r.speaks() {
		r.begin()
	}
	r.rec.counted()
	gaveUp, failed := r.rec.gaveUp()
	switch {
	case e.stop == continuous.StopTurns:
		return r.another(continuous.Work{}, "The round was ended at its limit of turns. Go on with what is left of the task.")
	case failed:
		return r.failedRound(gaveUp)
	case r.rec.claim() != nil, e.Outcome == proc.Exited && e.ExitCode == 0:
	case plain || e.class() != task.ClassAgentError:
		return nil, r.fail(failure(e)), nil
	default:
		return r.failedRound(e.words() + "\n" + e.output)
	}
	r.rec.place.Failed = 0
	if plain {
		r.rec.place.Iteration = 1
	}
	w, err := r.validate(ctx, e)
	switch {
	case err != nil:
		return nil, agent.Result{}, err
	case e.interrupted:
		return r.stand(ctx)
	case e.stop != "":
		return nil, r.loop().Finish(e.stop, w), nil
	}
	r.loop().Validated(w)
	switch {
	case len(w.Wrong) == 0:
		return r.accepted(ctx, e, w)
	case !plain:
		return r.another(w, "The work is not accepted yet:\n\n"+w.Feedback())
	}
	return nil, r.fail(map[string]any{ // an error carries its text to the next attempt
		"error": "The work did not pass its validation. " + w.Feedback(), "error_type": "validation_failed",
		"failure_class": string(task.ClassAgentError), "phase": "validation",
	}), nil
}

func (r *run) talks() bool {
	r.rec.mu.Lock()
	defer r.rec.mu.Unlock()
	return r.rec.spoke || r.env.Config.ReadsMessages
}

// validate judges the work; the test command is stopped as the program is. Pushing and the pull request are omoi's own.
func (r *run) validate(ctx context.Context, e *end) (continuous.Work, error) {
	w, err := r.loop().Validate(ctx, r.vars, r.environ, func(do func(context.Context)) { r.attend(ctx, e, do) })
	r.began = r.rec.save(r.began)
	return w, err
}

// accepted ends continuous mode with work that passes, unless somebody has something to add, and there is a
// round left for it.
func (r *run) accepted(ctx context.Context, e *end, w continuous.Work) (*step, agent.Result, error) {
	var next *step
	if r.loop().Over() == "" {
		var err error
		if next, err = r.addition(ctx, min(r.env.Patience(), r.limits.Left(&r.rec.place.State))); err != nil {
			return nil, agent.Result{}, err
		}
	}
	switch {
	case r.speaks():
		r.loop().Completed(w)
	case !r.talks():
		r.rec.place.Passed = 1
	}
	if next != nil {
		return next, agent.Result{}, nil
	}
	if !r.saidSo() {
		r.completed(e, w)
	}
	return nil, r.loop().Finish(continuous.StopPassed, w), nil
}

// saidSo reports whether the program has said itself that its round is complete, or all.
func (r *run) saidSo() bool {
	r.rec.mu.Lock()
	defer r.rec.mu.Unlock()
	return r.rec.ended != nil || r.rec.outcome != nil
}

func (r *run) failedRound(text string) (*step, agent.Result, error) {
	if r.loop().Failed(text, "command_failed") {
		return nil, r.loop().Finish(continuous.StopErrors, continuous.Work{}), nil
	}
	return r.unlessOver(continuous.Work{}, "The last round failed: "+text)
}

// another ends a round that was not the last, unless there are no more of them.
func (r *run) another(w continuous.Work, text string) (*step, agent.Result, error) {
	if r.speaks() {
		r.loop().Completed(w)
	}
	return r.unlessOver(w, text)
}

func (r *run) unlessOver(w continuous.Work, text string) (*step, agent.Result, error) {
	r.began = r.rec.save(r.began)
	if reason := r.loop().Over(); reason != "" {
		return nil, r.loop().Finish(reason, w), nil
	}
	return &step{feedback: text}, agent.Result{}, nil
}
