package continuous

import (
	"maps"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/uptime"
)

// Reasons to stop continuous mode, with their legacy names.
const (
	StopPassed     = "validation_passed"
	StopIterations = "max_iterations_reached"
	StopCost       = "max_cost_reached"
	StopTime       = "max_duration_reached"
	StopErrors     = "consecutive_errors"
	StopTurns      = "max_turns_reached" // of an iteration or a single run
)

// State is the state of continuous mode, which survives restarts of omoi-agent.
type State struct {
	Iteration int `json:"iteration"`
	Passed    int `json:"passed"`
	Failed    int `json:"failed"` // consecutive failures
	// Error is the error of the last failed iteration.
	Error   string `json:"error,omitempty"`
	Signals int    `json:"signals"`
	// Asked is true once the agent was asked to commit what it had left.
	Asked bool `json:"asked,omitempty"`
	// Account is the agent's last message before that.
	Account  string `json:"account,omitempty"`
	WorkedMS int64  `json:"worked_ms"`

	Since time.Duration `json:"-"` // WorkedMS counts until this time of [uptime.Now]
}

// Count adds the working time until now, independent of the wall clock. A remainder below a millisecond counts the next
// time.
func (s *State) Count() {
	worked := (uptime.Now() - s.Since).Truncate(time.Millisecond)
	s.Since += worked
	s.WorkedMS += worked.Milliseconds()
}

// Standing is the state of an agent's work.
type Standing struct {
	Cost    float64        // USD so far
	Bill    map[string]any // tokens and cost so far, as the data of an event
	Session string
	Turns   int
	Files   int            // number of changed files
	Said    string         // last text
	Told    map[string]any // the agent's own data of the end; nil: none
}

// Loop reports the iterations of an agent's continuous mode.
type Loop struct {
	Env    agent.Env
	Asks   Asks
	Limits Limits
	State  *State
	Now    func() Standing
}

// Begin begins an iteration.
func (l *Loop) Begin(prompt string) {
	if l.State.Iteration == 0 {
		l.Env.Report.Emit(event.ContinuousStarted, map[string]any{
			"goal": textcut.First(l.Env.Config.Description, 500), "completion_signal": l.Limits.Signal, "completion_threshold": 1,
			"limits": map[string]any{
				"max_iterations": l.Limits.Iterations, "max_cost_usd": l.Limits.Cost, "max_duration_seconds": l.Limits.Duration.Seconds(),
			},
			"validation_requirements": map[string]any{
				"require_clean_git": l.Asks.Clean, "require_code_pushed": l.Asks.Pushed, "require_pr_created": false,
			},
		})
	}
	l.State.Iteration++
	l.Report(event.IterationStarted, map[string]any{"prompt_preview": textcut.First(prompt, 500)}, Work{})
}

// Report reports an event of an iteration, with the state of continuous mode.
func (l *Loop) Report(eventType string, data map[string]any, w Work) {
	all := l.data(w)
	maps.Copy(all, data)
	l.Env.Report.Emit(eventType, all)
}

func (l *Loop) data(w Work) map[string]any {
	s, now := l.State, l.Now()
	data := map[string]any{
		"iteration_num": s.Iteration, "successful_iterations": s.Passed, "error_count": s.Failed,
		"completion_signal_count": s.Signals, "elapsed_seconds": time.Duration(s.WorkedMS * int64(time.Millisecond)).Seconds(),
		"last_session_id": now.Session, "validation_passed": false, "tests_passed": w.Tested,
	}
	data["total_cost_usd"], data["cost_unknown"] = now.Bill["cost_usd"], now.Bill["cost_unknown"] == true
	maps.Copy(data, l.WorkData(w))
	return data
}

// WorkData returns the event fields about the work. The pull request is omoi's own, so its fields are empty.
func (l *Loop) WorkData(w Work) map[string]any {
	data := map[string]any{
		"branch_name": l.Env.Branch(), "code_committed": w.Committed, "code_pushed": w.Pushed, "files_changed": l.Now().Files,
		"pr_created": false, "pr_url": nil, "pr_number": nil, "ci_status": nil,
	}
	if w.ByOmoi > 0 {
		data["committed_by_omoi"] = w.ByOmoi
	}
	return data
}

// Signalled reports that the agent's completion signal was found.
func (l *Loop) Signalled() {
	l.State.Signals++
	l.Env.Report.Emit(event.IterationCompletionSignal, map[string]any{
		"iteration_num": l.State.Iteration, "signal_count": l.State.Signals, "threshold": 1,
	})
}
