package claude

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/task"
)

// Why continuous mode stops, in the words of the replaced system.
const (
	stopPassed     = "validation_passed"
	stopIterations = "max_iterations_reached"
	stopCost       = "max_cost_reached"
	stopTime       = "max_duration_reached"
	stopErrors     = "consecutive_errors"
)

// limits are those of continuous mode; they also end a round that is under way.
type limits struct {
	iterations, errors int
	cost               float64
	duration           time.Duration
	time               <-chan time.Time // of what is left of it
	signal             string
}

func limitsOf(env agent.Env, vars variables, p *place) limits {
	if !env.Config.Continuous {
		return limits{}
	}
	l := limits{
		iterations: int(number(vars["MAX_ITERATIONS"], 10)), errors: int(number(vars["MAX_CONSECUTIVE_ERRORS"], 3)),
		cost: number(vars["MAX_TOTAL_COST_USD"], 20), signal: or(vars["COMPLETION_SIGNAL"], "TASK_COMPLETE"),
		duration: time.Duration(number(vars["MAX_DURATION_SECONDS"], 3600) * float64(time.Second)),
	}
	l.time = time.After(l.duration - time.Duration(p.WorkedMS)*time.Millisecond)
	return l
}

func number(text string, def float64) float64 {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 {
		return n
	}
	return def
}

// round begins an iteration of continuous mode, if this is one.
func (t *talk) round(text string) string {
	if !t.env.Config.Continuous {
		return text
	}
	if t.place.Iteration == 0 {
		t.env.Report.Emit("continuous.started", map[string]any{
			"goal": firstBytes(t.env.Config.Description, 500), "completion_signal": t.limits.signal, "completion_threshold": 1,
			"limits": map[string]any{
				"max_iterations": t.limits.iterations, "max_cost_usd": t.limits.cost, "max_duration_seconds": t.limits.duration.Seconds(),
			},
			"validation_requirements": map[string]any{
				"require_clean_git": t.wants("REQUIRE_CLEAN_GIT"), "require_code_pushed": t.wants("REQUIRE_CODE_PUSHED"), "require_pr_created": false,
			},
		})
	}
	t.place.Iteration++
	text += "\n\nWhen all of it is done, and only then, end your last message with a line that says " + t.limits.signal + "."
	t.report("started", map[string]any{"prompt_preview": firstBytes(text, 500)}, work{})
	return text
}

// report tells of an iteration, with where continuous mode stands.
func (t *talk) report(kind string, data map[string]any, w work) {
	all := t.state(w)
	maps.Copy(all, data)
	t.env.Report.Emit("iteration."+kind, all)
}

func (t *talk) state(w work) map[string]any {
	p := t.place
	data := map[string]any{
		"iteration_num": p.Iteration, "successful_iterations": p.Passed, "error_count": p.Failed, "total_cost_usd": t.rec.cost(),
		"completion_signal_count": p.Signals, "elapsed_seconds": time.Duration(p.WorkedMS * int64(time.Millisecond)).Seconds(),
		"last_session_id": p.SessionID, "validation_passed": false, "tests_passed": w.tested,
	}
	maps.Copy(data, t.workData(w))
	return data
}

// judgeRound decides what follows an iteration: another one on the given text, or the end.
func (t *talk) judgeRound(ctx context.Context, end *turn) (*step, agent.Result, error) {
	f := t.failure(end)
	switch {
	case end.stop != "":
		return nil, t.finish(end.stop, work{}), nil
	case f != nil && f.reason == stopCost:
		return nil, t.finish(stopCost, work{}), nil
	case f != nil && f.class != task.ClassAgentError && f.kind != "max_turns":
		return nil, t.fail(f), nil
	case f != nil && f.kind != "max_turns":
		return t.failedRound(f)
	}
	t.place.Failed = 0
	if !strings.Contains(end.result.Result, t.limits.signal) {
		return t.another(work{}, "Go on with what is left of the task.")
	}
	return t.signalled(ctx, end)
}

// signalled validates the work of an agent that says that it is done.
func (t *talk) signalled(ctx context.Context, end *turn) (*step, agent.Result, error) {
	t.place.Signals++
	t.env.Report.Emit("iteration.completion_signal", map[string]any{
		"iteration_num": t.place.Iteration, "signal_count": t.place.Signals, "threshold": 1,
	})
	w, err := t.validate(ctx, end)
	switch {
	case err != nil:
		return nil, agent.Result{}, err
	case end.interrupted:
		return t.stand(ctx)
	case end.stop != "":
		return nil, t.finish(end.stop, w), nil
	}
	feedback := strings.Join(w.wrong, "\n")
	t.env.Report.Emit("iteration.validation", map[string]any{
		"iteration_num": t.place.Iteration, "passed": len(w.wrong) == 0, "feedback": feedback, "errors": append([]string{}, w.wrong...),
		"git_status": map[string]any{"is_clean": w.clean, "is_pushed": w.pushed, "has_pr": false, "branch_name": t.branch()},
	})
	if len(w.wrong) > 0 {
		return t.another(w, "The work is not accepted yet:\n\n"+feedback)
	}
	if m, ok := t.lastWord(ctx); ok {
		next, res, err := t.another(w, "")
		if next != nil {
			next = stepOf(m)
		}
		return next, res, err
	}
	if f := t.close(ctx, end); ctx.Err() != nil {
		return nil, agent.Result{}, ctx.Err()
	} else if f != nil {
		return t.failedRound(f)
	}
	t.place.Passed++
	t.report("completed", t.preview(), w)
	t.completed(end, w)
	return nil, t.finish(stopPassed, w), nil
}

func (t *talk) preview() map[string]any {
	return map[string]any{"cost_usd": t.rec.cost(), "output_preview": firstBytes(t.rec.said(), 1000)}
}

// another ends an iteration that was not the last, unless there are no more of them.
func (t *talk) another(w work, text string) (*step, agent.Result, error) {
	t.place.Passed++
	t.report("completed", t.preview(), w)
	return t.unlessOver(w, text)
}

func (t *talk) failedRound(f *failed) (*step, agent.Result, error) {
	t.place.Failed++
	t.report("failed", map[string]any{"error": f.text, "error_type": f.kind, "error_count": t.place.Failed}, work{})
	if t.place.Failed >= t.limits.errors {
		return nil, t.finish(stopErrors, work{}), nil
	}
	return t.unlessOver(work{}, "The last round failed: "+clip(f.text, resultBytes)+"\n\nGo on with the task.")
}

func (t *talk) unlessOver(w work, text string) (*step, agent.Result, error) {
	t.save()
	switch {
	case t.place.Iteration >= t.limits.iterations:
		return nil, t.finish(stopIterations, w), nil
	case t.rec.cost() >= t.limits.cost:
		return nil, t.finish(stopCost, w), nil
	case time.Duration(t.place.WorkedMS)*time.Millisecond >= t.limits.duration:
		return nil, t.finish(stopTime, w), nil
	}
	return &step{text: text}, agent.Result{}, nil
}

// finish reports the end of continuous mode.
func (t *talk) finish(reason string, w work) agent.Result {
	t.save()
	data := t.state(w)
	maps.Copy(data, t.rec.bill())
	maps.Copy(data, map[string]any{
		"stop_reason": reason, "validation_passed": reason == stopPassed, "phase_data": map[string]any{}, "session_id": t.place.SessionID,
		"turns": t.rec.at().Turn, "final_output": t.rec.said(),
	})
	t.env.Report.Emit(task.EventContinuousCompleted, data)
	return agent.Result{Failed: reason != stopPassed}
}
