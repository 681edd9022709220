package scripted

import (
	"maps"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// complete reports the end of a run.
func (r *run) complete(s Step) {
	output := s.Output
	if output == "" {
		output = r.place.LastSaid
	}
	reason := "end_turn"
	if !s.Success {
		reason = "error"
	}
	data := map[string]any{
		"success": s.Success, "turns": r.place.Turn, "session_id": r.env.SessionID, "model": Model,
		"stop_reason": reason, "final_output": output, "branch_name": r.env.Branch(), "agent_type": r.env.AgentType(),
		"validation_passed": false, "tool_errors": r.place.ToolErrors, "transcript_path": r.log.Path,
		"files_changed": len(r.place.Files), "duration_ms": r.worked().Milliseconds(),
	}
	r.addUsage(data)
	r.addWork(data)
	r.env.Report.Emit(event.AgentCompleted, data)
	r.place.Ended, r.res.Failed = true, !s.Success
}

func (r *run) addUsage(data map[string]any) {
	u := r.place.Usage
	data["cost_usd"] = u.CostUSD
	data["input_tokens"], data["output_tokens"] = u.InputTokens, u.OutputTokens
	data["cache_read_tokens"], data["cache_write_tokens"] = u.CacheReadTokens, u.CacheWriteTokens
}

// addWork tells what is known of the work; a script opens no pull request and asks no CI.
func (r *run) addWork(data map[string]any) {
	maps.Copy(data, map[string]any{
		"tests_passed": false, "code_committed": r.place.Committed, "code_pushed": r.place.Pushed,
		"pr_created": false, "pr_url": nil, "pr_number": nil, "ci_status": nil,
	})
}

func (r *run) fail(text string) {
	r.env.Report.Emit(event.AgentError, map[string]any{
		"error": text, "phase": "initial_task", "error_type": "agent_error", "failure_class": string(task.ClassAgentError),
		"turn": r.place.Turn, "cost_usd": r.place.Usage.CostUSD,
		"input_tokens": r.place.Usage.InputTokens, "output_tokens": r.place.Usage.OutputTokens,
	})
	r.place.Ended, r.res.Failed = true, true
}

// state are the fields that every iteration and the end of continuous mode carry.
func (r *run) state() map[string]any {
	data := map[string]any{
		"iteration_num": r.place.Iteration, "successful_iterations": r.place.Passed, "error_count": r.place.Errors,
		"total_cost_usd": r.place.Usage.CostUSD, "completion_signal_count": r.place.Signals,
		"elapsed_seconds": r.worked().Seconds(), "last_session_id": r.env.SessionID,
		"validation_passed": false, "files_changed": len(r.place.Files),
	}
	r.addWork(data)
	return data
}

func over(data, with map[string]any) map[string]any {
	maps.Copy(data, with)
	return data
}

// iteration reports one round of continuous mode. Of the given fields, error makes it a
// failed one, completion_signal and passed add the events of signal and validation; all of
// them are carried along.
func (r *run) iteration(given map[string]any) {
	if r.place.Iteration == 0 {
		r.env.Report.Emit(event.ContinuousStarted, map[string]any{
			"goal": textcut.First(r.env.Config.Description, 500), "limits": map[string]any{},
			"completion_signal": "TASK_COMPLETE", "completion_threshold": 1, "validation_requirements": map[string]any{},
		})
	}
	r.place.Iteration++
	emit := func(eventType string, data map[string]any) {
		data["iteration_num"] = r.place.Iteration
		r.env.Report.Emit(eventType, data)
	}
	emit(event.IterationStarted, over(r.state(), map[string]any{"prompt_preview": textcut.First(r.env.Config.Description, 500)}))
	if text, failed := given["error"]; failed {
		r.place.Errors++
		emit(event.IterationFailed, over(map[string]any{"error": text, "error_count": r.place.Errors}, given))
		return
	}
	if signal, ok := given["completion_signal"].(bool); ok && signal {
		r.place.Signals++
		emit(event.IterationCompletionSignal, map[string]any{"signal_count": r.place.Signals, "threshold": 1})
	}
	r.place.Passed++
	if passed, ok := given["passed"]; ok {
		emit(event.IterationValidation, over(map[string]any{"passed": passed, "feedback": "", "errors": []string{}}, given))
	}
	emit(event.IterationCompleted, over(over(r.state(), map[string]any{
		"cost_usd": r.place.Usage.CostUSD, "output_preview": textcut.First(r.place.LastOutput, 1000),
	}), given))
}

func (r *run) continuousComplete(given map[string]any) {
	passed, _ := given["validation_passed"].(bool)
	data := over(r.state(), map[string]any{"stop_reason": "max_iterations_reached", "phase_data": map[string]any{}})
	if passed {
		data["stop_reason"] = "validation_passed"
	}
	data["cost_usd"], data["session_id"], data["turns"] = r.place.Usage.CostUSD, r.env.SessionID, r.place.Turn
	data["input_tokens"], data["output_tokens"] = r.place.Usage.InputTokens, r.place.Usage.OutputTokens
	data["final_output"], data["branch_name"] = r.place.LastSaid, r.env.Branch()
	r.env.Report.Emit(event.ContinuousCompleted, over(data, given))
	r.place.Ended, r.res.Failed = true, !passed
}
