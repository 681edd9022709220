package command

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// after decides what follows a run of the program: another one, or the end. What the program has said of its outcome goes
// before how it ended; success is judged all the same.
func (r *run) after(ctx context.Context, e *end) (*step, agent.Result, error) {
	posted, err := reported(ctx, r.env)
	said := r.rec.claim()
	if said != nil { // before it was stopped
		e.stop, e.interrupted = "", false
	}
	switch {
	case err != nil:
		return nil, agent.Result{}, err
	case posted:
		r.env.Log.InfoContext(ctx, "the program reported its outcome itself", slog.Int("exit_code", e.ExitCode))
		return nil, agent.Result{Failed: e.Outcome != proc.Exited || e.ExitCode != 0}, nil
	case said != nil && fails(said):
		return nil, r.gaveUp(said), nil
	case e.interrupted:
		return r.stand(ctx)
	case e.stop != "" && (e.stop != continuous.StopTurns || !r.env.Config.Continuous):
		return nil, r.atLimit(e.stop), nil
	case r.env.Config.Continuous:
		return r.judgeRound(ctx, e)
	case said == nil && (e.Outcome != proc.Exited || e.ExitCode != 0):
		return nil, r.fail(failure(e)), nil
	}
	return r.succeed(ctx, e)
}

// gaveUp tells what the program said: that its work is not done.
func (r *run) gaveUp(said *eventLine) agent.Result {
	data := said.Data
	if said.Type == event.AgentCompleted {
		data = r.rec.completion(data)
	}
	r.env.Report.Emit(said.Type, data)
	return agent.Result{Failed: true}
}

// succeed ends a single run that went well, unless somebody has something to add.
func (r *run) succeed(ctx context.Context, e *end) (*step, agent.Result, error) {
	w := continuous.Look(ctx, r.env, continuous.Asks{})
	if err := ctx.Err(); err != nil { // nobody knows what could not be looked at
		return nil, agent.Result{}, err
	}
	if text := w.Undone(r.env, r.vars); text != "" {
		data := r.rec.disproved()
		maps.Copy(data, map[string]any{
			"error": text, "error_type": "nothing_done", "failure_class": string(task.ClassAgentError), "phase": "validation", "stop_reason": "nothing_done",
		})
		return nil, r.fail(data), nil
	}
	if next, err := r.addition(ctx, r.env.Patience()); next != nil || err != nil {
		return next, agent.Result{}, err
	}
	r.completed(e, w)
	return nil, agent.Result{}, ctx.Err()
}

// completed tells that the work is done, in the program's words where it has any.
func (r *run) completed(e *end, w continuous.Work) {
	kind, data := event.AgentCompleted, map[string]any{
		"stop_reason": "exit_0", "duration_ms": e.Duration.Milliseconds(), "tests_passed": w.Tested,
	}
	maps.Copy(data, r.loop().WorkData(w))
	if said := r.rec.claim(); said != nil {
		kind, data["stop_reason"] = said.Type, "end_turn"
		maps.Copy(data, said.Data)
	}
	maps.Copy(data, w.Found())
	r.env.Report.Emit(kind, r.rec.completion(data))
}

// atLimit ends an attempt that has used up what it was given.
func (r *run) atLimit(reason string) agent.Result {
	if r.env.Config.Continuous {
		return r.loop().Finish(reason, continuous.Work{})
	}
	kind, name, now := "max_budget", "MAX_BUDGET_USD", r.rec.standing()
	if reason == continuous.StopTurns {
		kind, name = "max_turns", "MAX_TURNS"
	}
	return r.fail(map[string]any{
		"error": continuous.Stopped(now.Turns, now.Cost, name), "error_type": kind, "failure_class": string(task.ClassStopped),
		"phase": "initial_task", "stop_reason": reason,
	})
}

// fail reports why there is nothing more to expect, with words and bill.
func (r *run) fail(data map[string]any) agent.Result {
	now := r.rec.standing()
	maps.Copy(data, now.Bill)
	data["turn"], data["final_output"] = now.Turns, now.Said
	r.env.Report.Emit(event.AgentError, data)
	return agent.Result{Failed: true}
}

// class is that of a program that ended without success.
func (e *end) class() task.FailureClass {
	switch e.Outcome {
	case proc.OutOfMemory, proc.Limit:
		return task.ClassResources
	case proc.Killed:
		return task.ClassInfrastructure
	case proc.Exited, proc.Timeout, proc.Stopped:
	}
	return task.ClassAgentError
}

func (e *end) words() string {
	return strings.TrimSpace(fmt.Sprintf("The command ended with exit code %d (%s). %s", e.ExitCode, e.Outcome, e.Note))
}

func failure(e *end) map[string]any {
	return map[string]any{
		"error": e.words() + " " + agent.EndOf(e.output), "error_type": string(e.Outcome), "failure_class": string(e.class()), "phase": "initial_task",
		"exit_code": e.ExitCode, "output": e.output, "duration_ms": e.Duration.Milliseconds(),
	}
}
