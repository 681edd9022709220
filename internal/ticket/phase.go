package ticket

import "slices"

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
	switch from {
	case PhaseBacklog:
		return []string{PhaseRequirements, PhaseBlocked}
	case PhaseRequirements:
		return []string{PhaseDesign, PhaseBlocked}
	case PhaseDesign:
		return []string{PhaseImplementation, PhaseBlocked}
	case PhaseImplementation:
		return []string{PhaseTesting, PhaseBlocked}
	case PhaseTesting:
		return []string{PhaseDeployment, PhaseImplementation, PhaseBlocked}
	case PhaseDeployment:
		return []string{PhaseDone, PhaseBlocked}
	case PhaseBlocked:
		return []string{PhaseBacklog, PhaseRequirements, PhaseDesign, PhaseImplementation, PhaseTesting}
	}
	return nil
}

// CanMove reports whether a ticket may go from one phase to another.
func CanMove(from, to string) bool { return from == to || slices.Contains(PhaseMoves(from), to) }
