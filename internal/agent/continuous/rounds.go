package continuous

import (
	"context"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/task"
)

// maxReason bounds what the next iteration is told of a failed one.
const maxReason = 5000

// Prompt is the text of a step for an agent that is prompted. In continuous mode it begins an iteration.
func (d *Driver) Prompt(text string) string {
	if !d.Env.Config.Continuous {
		return text
	}
	text += "\n\nWhen all of it is done, and only then, end your last message with a line that says " + d.Limits.Signal + "."
	d.Begin(text)
	return text
}

// judge decides what follows an iteration of continuous mode. An agent of one turn has one: its next chance is the next attempt,
// which is given what went wrong.
func (d *Driver) judge(ctx context.Context, end *Turn, f *Failure) (*Step, agent.Result, error) {
	once := d.Agent.Once()
	switch turns := f != nil && f.Reason == StopTurns; {
	case end.Stop != "" && end.Stop != StopTurns:
		return nil, d.finish(end.Stop, Work{}), nil
	case f != nil && f.Reason == StopCost:
		return nil, d.finish(StopCost, Work{}), nil
	case f != nil && !turns && (once || f.Class != task.ClassAgentError):
		return nil, d.fail(f), nil
	case f != nil && !turns:
		return d.failed(f)
	case turns, d.Prompted && !strings.Contains(end.Said, d.Limits.Signal):
		d.State.Failed = 0
		return d.another(Work{}, "Go on with what is left of the task.")
	}
	d.State.Failed = 0
	if once {
		d.State.Iteration = 1
	}
	return d.validated(ctx, end, once)
}

// validated judges the work of an agent that says that it is done.
func (d *Driver) validated(ctx context.Context, end *Turn, once bool) (*Step, agent.Result, error) {
	if d.Prompted {
		d.Signalled()
	}
	w, err := d.Validate(ctx, d.Vars, d.Environ, func(do func(context.Context)) { d.attend(ctx, end, do) })
	d.Agent.Save()
	switch {
	case err != nil:
		return nil, agent.Result{}, err
	case end.Interrupted:
		return d.stand(ctx)
	case end.Stop != "":
		return nil, d.finish(end.Stop, w), nil
	}
	d.Validated(w)
	switch {
	case len(w.Wrong) == 0:
		return d.accepted(ctx, end, w, once)
	case !once:
		return d.another(w, "The work is not accepted yet:\n\n"+w.Feedback())
	}
	return nil, d.fail(&Failure{ // an error carries its text to the next attempt
		Class: task.ClassAgentError, Kind: "validation_failed", Reason: "validation_failed", Phase: "validation",
		Text: "The work did not pass its validation. " + w.Feedback(),
	}), nil
}

// accepted ends continuous mode with work that passes, unless somebody has something to add, and
// there is an iteration left for it. What is said too late does not take back that the work passes.
func (d *Driver) accepted(ctx context.Context, end *Turn, w Work, once bool) (*Step, agent.Result, error) {
	patience := min(d.Env.Patience(), d.Limits.Left(d.State))
	if d.Over() != "" {
		patience = 0
	}
	next, f, err := d.addition(ctx, end, patience)
	switch {
	case err != nil:
		return nil, agent.Result{}, err
	case end.Interrupted:
		return d.stand(ctx)
	case next == nil && f != nil && f.Reason == StopCost:
		return nil, d.finish(StopCost, w), nil
	case next == nil && f != nil:
		return d.failed(f)
	case once:
		d.State.Passed = 1
	default:
		d.Completed(w)
	}
	d.Agent.Save()
	if next != nil && d.Over() == "" {
		return next, agent.Result{}, nil
	}
	if next != nil {
		d.Later = slices.Insert(d.Later, 0, next.Of)
	}
	d.Agent.Complete(w)
	return nil, d.finish(StopPassed, w), nil
}

// another ends an iteration that was not the last, unless there are no more of them.
func (d *Driver) another(w Work, text string) (*Step, agent.Result, error) {
	d.Completed(w)
	return d.unlessOver(w, text)
}

func (d *Driver) failed(f *Failure) (*Step, agent.Result, error) {
	if d.Failed(f.Text, f.Kind) {
		return nil, d.finish(StopErrors, Work{}), nil
	}
	return d.unlessOver(Work{}, "The last round failed: "+textcut.First(f.Text, maxReason)+"\n\nGo on with the task.")
}

func (d *Driver) unlessOver(w Work, text string) (*Step, agent.Result, error) {
	d.Agent.Save()
	if reason := d.Over(); reason != "" {
		return nil, d.finish(reason, w), nil
	}
	return &Step{Text: text}, agent.Result{}, nil
}

func (d *Driver) finish(reason string, w Work) agent.Result {
	d.Agent.Save()
	return d.Finish(reason, w)
}
