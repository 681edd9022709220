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
	StopTurns      = "max_turns_reached" // of a round, or of a single run
)

// State is where continuous mode stands; it is kept over restarts of the agent.
type State struct {
	Iteration int `json:"iteration"`
	Passed    int `json:"passed"`
	Failed    int `json:"failed"` // in a row
	// Error is what the newest failed round failed of.
	Error    string `json:"error,omitempty"`
	Signals  int    `json:"signals"`
	WorkedMS int64  `json:"worked_ms"`

	Since time.Duration `json:"-"` // until when WorkedMS is counted, by [uptime.Now]
}

// Count counts the time of work until now, whatever the wall clock says. What is less than a millisecond counts the next time.
func (s *State) Count() {
	worked := (uptime.Now() - s.Since).Truncate(time.Millisecond)
	s.Since += worked
	s.WorkedMS += worked.Milliseconds()
}

// Standing is the state of an agent between two iterations.
type Standing struct {
	Cost    float64        // so far
	Bill    map[string]any // tokens and cost so far, as the data of an event
	Session string
	Turns   int
	Files   int            // that were changed
	Said    string         // what it said last
	Told    map[string]any // what it says itself of the end; nil: nothing
}

// Loop reports the rounds of one agent's continuous mode.
type Loop struct {
	Env    agent.Env
	Asks   Asks
	Limits Limits
	State  *State
	Now    func() Standing
}

// Begin begins a round.
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

// Report tells of a round, with where continuous mode stands.
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

// WorkData is what is known of the work; the pull request is omoi's own.
func (l *Loop) WorkData(w Work) map[string]any {
	return map[string]any{
		"branch_name": l.Env.Branch(), "code_committed": w.Committed, "code_pushed": w.Pushed, "files_changed": l.Now().Files,
		"pr_created": false, "pr_url": nil, "pr_number": nil, "ci_status": nil,
	}
}

// Signalled tells that the agent says that it is done.
func (l *Loop) Signalled() {
	l.State.Signals++
	l.Env.Report.Emit(event.IterationCompletionSignal, map[string]any{
		"iteration_num": l.State.Iteration, "signal_count": l.State.Signals, "threshold": 1,
	})
}
