// Package ticket holds the rules of tickets: the status that follows from their tasks, and the order of their phases.
package ticket

import (
	"slices"

	"github.com/omoi-dev/omoi/internal/task"
)

// Task is what the status of a ticket depends on in one of its tasks.
type Task struct {
	Status  task.Status `json:"status"`
	Mode    string      `json:"mode"`
	Started bool        `json:"started"` // an attempt has begun
}

// Status returns the status of a ticket with these tasks; equal ones may be left out. A ticket whose
// tasks have not started, or whose started tasks are cancelled, is in the backlog.
func Status(tasks []Task) string {
	var begun, active, building, judged, completed, tried, open, beyond bool
	for _, t := range tasks {
		begun = begun || t.Status != task.StatusCancelled && (t.Status != task.StatusPending || t.Started)
		tried = tried || t.Status == task.StatusCompleted || t.Started
		completed = completed || t.Status == task.StatusCompleted
		switch t.Status {
		case task.StatusAssigned, task.StatusRunning, task.StatusNeedsRevision:
			active, building = true, building || t.Mode != task.ModeExploration
		case task.StatusPendingValidation, task.StatusValidating:
			judged = true
		case task.StatusPending, task.StatusCompleted, task.StatusFailed, task.StatusCancelled:
		}
		if t.Status != task.StatusCompleted && t.Status != task.StatusCancelled {
			open, beyond = true, beyond || t.Mode != task.ModeValidation
		}
	}
	switch {
	case !begun:
		return "backlog"
	case active && !building:
		return "analyzing"
	case active:
		return "building"
	case judged:
		return "testing"
	case !tried:
		return "backlog"
	case completed && !open:
		return "done"
	case completed && !beyond:
		return "building-done"
	}
	return "building"
}

// Phases of a ticket, in their order; blocked stands beside it.
const (
	PhaseBacklog        = "PHASE_BACKLOG"
	PhaseRequirements   = "PHASE_REQUIREMENTS"
	PhaseDesign         = "PHASE_DESIGN"
	PhaseImplementation = "PHASE_IMPLEMENTATION"
	PhaseTesting        = "PHASE_TESTING"
	PhaseDeployment     = "PHASE_DEPLOYMENT"
	PhaseDone           = "PHASE_DONE"
	PhaseBlocked        = "PHASE_BLOCKED"
)

// PhaseMoves are the phases that may follow one; staying is always allowed.
func PhaseMoves(from string) []string {
	return map[string][]string{
		PhaseBacklog:        {PhaseRequirements, PhaseBlocked},
		PhaseRequirements:   {PhaseDesign, PhaseBlocked},
		PhaseDesign:         {PhaseImplementation, PhaseBlocked},
		PhaseImplementation: {PhaseTesting, PhaseBlocked},
		PhaseTesting:        {PhaseDeployment, PhaseImplementation, PhaseBlocked},
		PhaseDeployment:     {PhaseDone, PhaseBlocked},
		PhaseBlocked:        {PhaseBacklog, PhaseRequirements, PhaseDesign, PhaseImplementation, PhaseTesting},
	}[from]
}

// CanMove reports whether a ticket may go from one phase to another.
func CanMove(from, to string) bool { return from == to || slices.Contains(PhaseMoves(from), to) }
