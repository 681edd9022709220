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
