package activities

import (
	"context"

	"github.com/omoi-dev/omoi/internal/contract"
)

// Supervisor is the guardian, which analyzes sandboxes, or the conductor, which analyzes organizations.
type Supervisor interface {
	// Begin records a cycle. It returns the ordered IDs to analyze and the number of active agents.
	Begin(ctx context.Context, cycleID string) (ids []string, agents int, err error)
	// Analyze analyzes each item of a range once per cycle. It starts after from, the progress of an earlier try, and
	// reports its own progress to note.
	Analyze(ctx context.Context, r contract.Range, from contract.CycleProgress, note func(contract.CycleProgress)) (contract.CycleProgress, error)
	End(ctx context.Context, r contract.CycleReport) error
}

// Cycle has the activities of one cycle of a supervisor.
type Cycle struct{ supervisor Supervisor }

// GuardianCycle returns the activities of the guardian.
func (a *Activities) GuardianCycle() Cycle { return Cycle{a.deps.Guardian} }

// ConductorCycle returns the activities of the conductor.
func (a *Activities) ConductorCycle() Cycle { return Cycle{a.deps.Conductor} }

// Begin records the start of a cycle and divides its IDs into ranges.
func (c Cycle) Begin(ctx context.Context, in contract.CycleRef) (contract.BegunCycle, error) {
	ids, agents, err := c.supervisor.Begin(ctx, in.ID)
	return contract.BegunCycle{Agents: agents, Ranges: divide(in.ID, ids)}, err
}

// maxRanges is the maximum number of ranges of a cycle, and minRange the minimum size of a range. One activity for each
// sandbox would cost more than its analysis.
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

// Analyze analyzes a range. It continues after the progress of an earlier try.
func (c Cycle) Analyze(ctx context.Context, in contract.Range) (contract.CycleProgress, error) {
	done, stop := beating[contract.CycleProgress](ctx)
	defer stop()
	return c.supervisor.Analyze(ctx, in, done.get(), done.set)
}

// End records the result of a cycle.
func (c Cycle) End(ctx context.Context, in contract.CycleReport) error {
	return c.supervisor.End(ctx, in)
}
