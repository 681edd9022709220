// Package spec reads how far a legacy run by phases has come, from what its events said.
package spec

import (
	"slices"
	"strings"
	"time"
)

// PhaseStatus is how far a run by phases has come. Sandboxes without one have the empty form.
type PhaseStatus struct {
	SandboxID       string     `json:"sandbox_id" doc:"Sandbox of the spec execution."`
	IsSpec          bool       `json:"is_spec_sandbox" doc:"true: the sandbox reported spec events, or its ID begins with spec-."`
	Completed       []string   `json:"phases_completed" nullable:"false" doc:"Completed phases, in the order explore, prd, requirements, design, tasks, sync."`
	Started         []string   `json:"phases_started" nullable:"false" doc:"Phases that have started, completed ones included, in the order explore, prd, requirements, design, tasks, sync."`
	LastCompleted   *string    `json:"last_phase_completed" doc:"Phase that was completed last; null: none."`
	LastCompletedAt *time.Time `json:"last_phase_completed_at" doc:"When last_phase_completed was completed; null: no phase is completed."`
	NextExpected    *string    `json:"next_expected_phase" doc:"Phase after the last completed one; null: no phase is completed, none follows, or the execution ended."`
	Stuck           bool       `json:"is_stuck_between_phases" doc:"true: the expected phase has not started five minutes after the last completed one."`
	StuckSeconds    float64    `json:"stuck_duration_seconds" doc:"Seconds since last_phase_completed_at while stuck; 0: not stuck."`
	HasCompleted    bool       `json:"has_execution_completed" doc:"true: the agent reported spec.execution_completed."`
	HasFailed       bool       `json:"has_execution_failed" doc:"true: the agent reported spec.execution_failed."`
	Spec            *State     `json:"spec,omitempty" doc:"State of the spec; absent without spec events."`
}

// State is what a run by phases has made of its spec.
type State struct {
	SpecID       string `json:"spec_id" doc:"Spec ID that the agent reported; empty: none."`
	Status       string `json:"status" enum:"executing,completed,failed" doc:"State of the spec execution. More values may be added."`
	CurrentPhase string `json:"current_phase" doc:"Newest phase that started, for example design; empty: none."`
	Progress     int    `json:"progress" doc:"Progress of the execution in percent, 0 to 100."`
	CriteriaMet  int    `json:"criteria_met" doc:"Number of acceptance criteria that the agent reported as met."`
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
