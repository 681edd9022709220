package claude

import (
	"context"
	"maps"
	"slices"
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
	stopTurns      = "max_turns_reached" // of a round, or of a single run
)

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
	t.place.TurnsBefore = t.rec.at().Turn
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
	case end.stop == stopTime:
		return nil, t.finish(stopTime, work{}), nil
	case f != nil && f.reason == stopCost:
		return nil, t.finish(stopCost, work{}), nil
	case f != nil && f.class != task.ClassAgentError && f.kind != "max_turns":
		return nil, t.fail(f), nil
	case f != nil && f.kind != "max_turns":
		return t.failedRound(f)
	}
	t.place.Failed = 0
	if f != nil || !strings.Contains(end.result.Result, t.limits.signal) {
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
	return t.accepted(ctx, end, w)
}

// accepted ends continuous mode with work that passes, unless somebody has something to add, and
// there is a round left for it. What is said too late does not take back that the work passes.
func (t *talk) accepted(ctx context.Context, end *turn, w work) (*step, agent.Result, error) {
	next, f, err := t.addition(ctx, end)
	switch {
	case err != nil:
		return nil, agent.Result{}, err
	case end.interrupted:
		return t.stand(ctx)
	case next == nil && f != nil && f.reason == stopCost:
		return nil, t.finish(stopCost, w), nil
	case next == nil && f != nil:
		return t.failedRound(f)
	}
	t.place.Passed++
	t.report("completed", t.preview(), w)
	t.save()
	if next != nil && t.spentUp() == "" {
		return next, agent.Result{}, nil
	}
	if next != nil {
		t.later = slices.Insert(t.later, 0, next.of)
	}
	t.completed(end, w)
	return nil, t.finish(stopPassed, w), nil
}

// addition is what is said of work that passes, before the program has ended.
func (t *talk) addition(ctx context.Context, end *turn) (*step, *failed, error) {
	t.save()
	if t.spentUp() == "" {
		left := t.limits.duration - time.Duration(t.place.WorkedMS)*time.Millisecond
		if next, err := t.linger(ctx, min(t.patience(), left)); next != nil || err != nil {
			return next, nil, err
		}
	}
	return t.conclude(ctx, end)
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
	if reason := t.spentUp(); reason != "" {
		return nil, t.finish(reason, w), nil
	}
	return &step{text: text}, agent.Result{}, nil
}

// spentUp is the limit at which there is no further round; empty: there is one.
func (t *talk) spentUp() string {
	switch {
	case t.place.Iteration >= t.limits.iterations:
		return stopIterations
	case t.rec.cost() >= t.limits.cost:
		return stopCost
	case time.Duration(t.place.WorkedMS)*time.Millisecond >= t.limits.duration:
		return stopTime
	}
	return ""
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
