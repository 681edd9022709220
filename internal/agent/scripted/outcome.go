package scripted

import (
	"cmp"
	"context"
	"maps"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// complete reports the end of a run.
func (r *run) complete(ctx context.Context, s Step) {
	reason := "error"
	if s.Success {
		reason = "end_turn"
		r.env.Leftovers.Commit(ctx, r.env.Leftovers.Find(ctx))
	}
	data := map[string]any{
		"success": s.Success, "turns": r.place.Turn, "session_id": r.env.SessionID, "model": Model,
		"stop_reason": reason, "final_output": cmp.Or(s.Output, r.place.LastSaid), "agent_type": r.env.AgentType(), "validation_passed": false,
		"tests_passed": false, "tool_errors": r.place.ToolErrors, "transcript_path": r.log.Path,
		"duration_ms": r.place.WorkedMS,
	}
	maps.Copy(data, r.bill())
	maps.Copy(data, r.loop.WorkData(r.done()))
	r.env.Report.Emit(event.AgentCompleted, data)
	r.place.Ended, r.res.Failed = true, !s.Success
}

func (r *run) bill() map[string]any {
	u := r.place.Usage
	return map[string]any{
		"cost_usd": u.CostUSD, "input_tokens": u.InputTokens, "output_tokens": u.OutputTokens,
		"cache_read_tokens": u.CacheReadTokens, "cache_write_tokens": u.CacheWriteTokens,
	}
}

// done returns what is known of the work. A script opens no pull request and runs no CI.
func (r *run) done() continuous.Work {
	n := r.env.Leftovers.Made().All
	return continuous.Work{Committed: r.place.Committed || n > 0, Pushed: r.place.Pushed, ByOmoi: n}
}

func (r *run) standing() continuous.Standing {
	return continuous.Standing{Bill: r.bill(), Session: r.env.SessionID, Files: len(r.place.Files)}
}

func (r *run) fail(text string) {
	r.env.Report.Emit(event.AgentError, over(r.bill(), map[string]any{
		"error": text, "phase": "initial_task", "error_type": "agent_error", "failure_class": string(task.ClassAgentError),
		"turn": r.place.Turn,
	}))
	r.place.Ended, r.res.Failed = true, true
}

func over(data, with map[string]any) map[string]any {
	maps.Copy(data, with)
	return data
}

// iteration reports an iteration of continuous mode. Of the given fields, error reports it as failed; completion_signal
// and passed add the events of signal and validation. All given fields are added to the events.
func (r *run) iteration(given map[string]any) {
	delete(given, "iteration_num") // counted by the loop
	r.loop.Begin(r.env.Config.Description)
	if text, failed := given["error"]; failed {
		r.place.Failed++
		r.loop.Report(event.IterationFailed, over(map[string]any{"error": text}, given), r.done())
		return
	}
	if given["completion_signal"] == true {
		r.loop.Signalled()
	}
	if passed, ok := given["passed"]; ok {
		r.env.Report.Emit(event.IterationValidation, over(map[string]any{
			"iteration_num": r.place.Iteration, "passed": passed, "feedback": "", "errors": []string{},
		}, given))
	}
	r.place.Passed++
	r.loop.Report(event.IterationCompleted, over(map[string]any{
		"cost_usd": r.place.Usage.CostUSD, "output_preview": textcut.First(r.place.LastOutput, 1000),
	}, given), r.done())
}

func (r *run) continuousComplete(ctx context.Context, given map[string]any) {
	data := over(r.bill(), map[string]any{
		"stop_reason": continuous.StopIterations, "phase_data": map[string]any{}, "session_id": r.env.SessionID,
		"turns": r.place.Turn, "final_output": r.place.LastSaid,
	})
	passed := given["validation_passed"] == true
	if passed {
		r.env.Leftovers.Commit(ctx, r.env.Leftovers.Find(ctx))
		data["stop_reason"] = continuous.StopPassed
	}
	r.loop.Report(event.ContinuousCompleted, over(data, given), r.done())
	r.place.Ended, r.res.Failed = true, !passed
}
