package continuous

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// maxReason is the maximum bytes of a failed iteration's reason for the next iteration.
const maxReason = 5000

// Prompt returns the text of a step for a prompted agent. In continuous mode it begins an iteration.
func (d *Driver) Prompt(text string) string {
	if !d.Env.Config.Continuous {
		return text
	}
	text += "\n\nWhen all of it is done, and only then, end your last message with a line that says " + d.Limits.Signal + "."
	d.Begin(text)
	return text
}

// judge decides what follows an iteration of continuous mode. An agent with one turn has one iteration; its reason for
// a failure goes to the next attempt.
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

// validated validates the work of an agent that reports it as done.
func (d *Driver) validated(ctx context.Context, end *Turn, once bool) (*Step, agent.Result, error) {
	if d.Prompted {
		d.Signalled()
	}
	w, err := d.validate(ctx, end)
	d.Agent.Save()
	switch {
	case err != nil:
		return nil, agent.Result{}, err
	case end.Interrupted:
		return d.stand(ctx)
	case end.Stop != "":
		return nil, d.finish(end.Stop, w), nil
	}
	d.tellJudged(w)
	switch {
	case len(w.Wrong) == 0:
		return d.accepted(ctx, end, w, once)
	case !once:
		return d.another(w, "The work is not accepted yet:\n\n"+w.Feedback())
	}
	return nil, d.fail(&Failure{ // the text of an error goes to the next attempt
		Class: task.ClassAgentError, Kind: "validation_failed", Reason: "validation_failed", Phase: "validation",
		Text: "The work did not pass its validation. " + w.Feedback(),
	}), nil
}

// accepted ends continuous mode with work that passes, unless a message arrives and another iteration is allowed for
// it. A late message does not change that the work passes.
func (d *Driver) accepted(ctx context.Context, end *Turn, w Work, once bool) (*Step, agent.Result, error) {
	patience := min(d.Env.Patience(), d.Limits.Left(d.State))
	if d.over() != "" {
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
		d.completed(w)
	}
	d.Agent.Save()
	if next != nil && d.over() == "" {
		return next, agent.Result{}, nil
	}
	if next != nil {
		d.Later = slices.Insert(d.Later, 0, next.Of)
	}
	d.Agent.Complete(w)
	return nil, d.finish(StopPassed, w), nil
}

// another ends an iteration and starts the next one, if the limits allow it.
func (d *Driver) another(w Work, text string) (*Step, agent.Result, error) {
	d.completed(w)
	return d.unlessOver(w, text)
}

// failed ends a failed iteration. Too many consecutive failures end continuous mode.
func (d *Driver) failed(f *Failure) (*Step, agent.Result, error) {
	const most = 1000
	d.State.Failed, d.State.Error = d.State.Failed+1, textcut.First(f.Text, most)
	d.Report(event.IterationFailed, map[string]any{"error": f.Text, "error_type": f.Kind, "error_count": d.State.Failed}, Work{})
	if d.State.Failed >= d.Limits.Errors {
		return nil, d.finish(StopErrors, Work{}), nil
	}
	return d.unlessOver(Work{}, "The last round failed: "+textcut.First(f.Text, maxReason)+"\n\nGo on with the task.")
}

func (d *Driver) unlessOver(w Work, text string) (*Step, agent.Result, error) {
	d.Agent.Save()
	if reason := d.over(); reason != "" {
		return nil, d.finish(reason, w), nil
	}
	return &Step{Text: text}, agent.Result{}, nil
}

// tellJudged reports the validation. The pull request is not part of it, because omoi opens it for work that passes.
func (d *Driver) tellJudged(w Work) {
	d.Env.Report.Emit(event.IterationValidation, map[string]any{
		"iteration_num": d.State.Iteration, "passed": len(w.Wrong) == 0, "feedback": w.Feedback(), "errors": append([]string{}, w.Wrong...),
		"git_status": map[string]any{"is_clean": w.Clean, "is_pushed": w.Pushed, "has_pr": false, "branch_name": d.Env.Branch()},
	})
}

// completed reports the end of an iteration without failure, whether its work passes or not.
func (d *Driver) completed(w Work) {
	d.State.Passed++
	now := d.Now()
	d.Report(event.IterationCompleted, map[string]any{"cost_usd": now.Bill["cost_usd"], "output_preview": textcut.First(now.Said, 1000)}, w)
}

// over returns the limit that allows no further iteration; empty: there is none.
func (d *Driver) over() string {
	switch {
	case d.State.Iteration >= d.Limits.Iterations:
		return StopIterations
	case d.Now().Cost >= d.Limits.Cost:
		return StopCost
	case d.Limits.Left(d.State) <= 0:
		return StopTime
	}
	return ""
}

// why returns an explanation of an unsuccessful end for users; empty: none.
func (d *Driver) why(reason string) string {
	name, limit := map[string]string{StopCost: "MAX_TOTAL_COST_USD", StopTime: "MAX_DURATION_SECONDS", StopIterations: "MAX_ITERATIONS"}[reason], ""
	switch {
	case reason == StopErrors && d.State.Error != "":
		return fmt.Sprintf("Failed rounds in a row: %d. The last one: %s", d.State.Failed, d.State.Error)
	case name == "":
		return ""
	case reason == StopCost:
		limit = fmt.Sprintf(", at a cost of %.4f USD", d.Now().Cost)
	}
	return fmt.Sprintf("%s: the agent was stopped in round %d%s; %s in env of execution_config sets the limit.", reason, d.State.Iteration, limit, name)
}

// finish reports the end of continuous mode.
func (d *Driver) finish(reason string, w Work) agent.Result {
	d.Agent.Save()
	data, now := d.data(w), d.Now()
	maps.Copy(data, map[string]any{
		"phase_data": map[string]any{}, "session_id": now.Session, "turns": now.Turns, "final_output": now.Said,
	})
	maps.Copy(data, now.Told)
	maps.Copy(data, now.Bill)
	maps.Copy(data, w.Found())
	maps.Copy(data, map[string]any{"stop_reason": reason, "validation_passed": reason == StopPassed})
	if text := d.why(reason); text != "" {
		data["error"] = text
	}
	d.Env.Report.Emit(event.ContinuousCompleted, data)
	return agent.Result{Failed: reason != StopPassed}
}
