// Package spec reads how far a legacy run by phases has come, from what its events said.
package spec

import (
	"slices"
	"strings"
	"time"
)

// PhaseStatus is how far a run by phases has come. Sandboxes without one have the empty form.
type PhaseStatus struct {
	SandboxID       string     `json:"sandbox_id"`
	IsSpec          bool       `json:"is_spec_sandbox"`
	Completed       []string   `json:"phases_completed"        nullable:"false"`
	Started         []string   `json:"phases_started"          nullable:"false"`
	LastCompleted   *string    `json:"last_phase_completed"`
	LastCompletedAt *time.Time `json:"last_phase_completed_at"`
	NextExpected    *string    `json:"next_expected_phase"`
	Stuck           bool       `json:"is_stuck_between_phases"`
	StuckSeconds    float64    `json:"stuck_duration_seconds"`
	HasCompleted    bool       `json:"has_execution_completed"`
	HasFailed       bool       `json:"has_execution_failed"`
	Spec            *State     `json:"spec,omitempty"` // absent without a run by phases
}

// State is what a run by phases has made of its spec.
type State struct {
	SpecID       string `json:"spec_id"`
	Status       string `json:"status"` // executing, completed, failed
	CurrentPhase string `json:"current_phase"`
	Progress     int    `json:"progress"` // percent
	CriteriaMet  int    `json:"criteria_met"`
}

// Progress is what the events of a run by phases said of it.
type Progress struct {
	State            State
	Started          map[string]time.Time // phase: when it first did
	Completed        map[string]time.Time
	LastCompleted    string // empty: none
	LastCompletedAt  time.Time
	Executed, Failed bool
}

// PhaseStuck is how long after a phase the next one may begin.
const PhaseStuck = 5 * time.Minute

// Phases are those of a run by phases, in their order.
func Phases() []string {
	return []string{"explore", "prd", "requirements", "design", "tasks", "sync"}
}

// PhaseBegins is the progress, in percent, with which a phase begins.
func PhaseBegins(phase string) int {
	const each = 16
	return max(slices.Index(Phases(), phase), 0) * each
}

// ReadPhases makes the status of a run's progress as of now; nil: there is none.
func ReadPhases(sandboxID string, p *Progress, now time.Time) PhaseStatus {
	s := PhaseStatus{SandboxID: sandboxID, IsSpec: p != nil || strings.HasPrefix(sandboxID, "spec-"), Completed: []string{}, Started: []string{}}
	if p == nil {
		return s
	}
	s.Spec, s.HasCompleted, s.HasFailed = &p.State, p.Executed, p.Failed
	for _, phase := range Phases() {
		if _, ok := p.Started[phase]; ok {
			s.Started = append(s.Started, phase)
		}
		if _, ok := p.Completed[phase]; ok {
			s.Completed = append(s.Completed, phase)
		}
	}
	if p.LastCompleted == "" {
		return s
	}
	s.LastCompleted, s.LastCompletedAt = &p.LastCompleted, &p.LastCompletedAt
	next := PhaseAfter(p.LastCompleted)
	if next == "" || s.HasCompleted || s.HasFailed {
		return s
	}
	s.NextExpected = &next
	if waited := now.Sub(p.LastCompletedAt); waited > PhaseStuck && !slices.Contains(s.Started, next) {
		s.Stuck, s.StuckSeconds = true, waited.Seconds()
	}
	return s
}

// PhaseAfter returns the phase that follows; empty after the last and for unknown ones.
func PhaseAfter(phase string) string {
	order := Phases()
	if at := slices.Index(order, phase); at >= 0 && at+1 < len(order) {
		return order[at+1]
	}
	return ""
}
