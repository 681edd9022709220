package activities

import (
	"context"

	"github.com/omoi-dev/omoi/internal/contract"
)

// Supervisor is the guardian, which analyzes sandboxes, or the conductor, which analyzes organizations.
type Supervisor interface {
	// Begin notes a cycle and returns the IDs of what it analyzes, in their order, and the number of active agents.
	Begin(ctx context.Context, cycleID string) (ids []string, agents int, err error)
	// Analyze analyzes a range, each item once in a cycle. from is how far an earlier try came; note is told how far this one is.
	Analyze(ctx context.Context, r contract.Range, from contract.CycleProgress, note func(contract.CycleProgress)) (contract.CycleProgress, error)
	End(ctx context.Context, r contract.CycleReport) error
}

// Cycle holds the activities of a supervisor's cycle.
type Cycle struct{ supervisor Supervisor }

// GuardianCycle returns the activities of the guardian.
func (a *Activities) GuardianCycle() Cycle { return Cycle{a.deps.Guardian} }

// ConductorCycle returns the activities of the conductor.
func (a *Activities) ConductorCycle() Cycle { return Cycle{a.deps.Conductor} }

// Begin notes that a cycle begins, and divides what it analyzes.
func (c Cycle) Begin(ctx context.Context, in contract.CycleRef) (contract.BegunCycle, error) {
	ids, agents, err := c.supervisor.Begin(ctx, in.ID)
	return contract.BegunCycle{Agents: agents, Ranges: divide(in.ID, ids)}, err
}

// maxRanges is the number of parts of a cycle, and minRange the least size of one: an activity for each sandbox would cost more than
// its analysis.
const (
	maxRanges = 20
	minRange  = 25
)

func divide(cycleID string, ids []string) []contract.Range {
	size := max(minRange, (len(ids)+maxRanges-1)/maxRanges)
	var out []contract.Range
	after := ""
	for begin := 0; begin < len(ids); begin += size {
		part := ids[begin:min(begin+size, len(ids))]
		upto := part[len(part)-1]
		out = append(out, contract.Range{CycleID: cycleID, After: after, Upto: upto, Count: len(part)})
		after = upto
	}
	return out
}

// Analyze analyzes a range, and continues where an earlier try was cut short.
func (c Cycle) Analyze(ctx context.Context, in contract.Range) (contract.CycleProgress, error) {
	done, stop := beating[contract.CycleProgress](ctx)
	defer stop()
	return c.supervisor.Analyze(ctx, in, done.get(), done.set)
}

// End notes what a cycle came to.
func (c Cycle) End(ctx context.Context, in contract.CycleReport) error {
	return c.supervisor.End(ctx, in)
}
