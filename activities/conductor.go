package activities

import (
	"context"

	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/contract"
)

// Conductor looks at the agents of organizations together.
type Conductor interface {
	// Begin answers the organizations with agents at work, in the order of their ids.
	Begin(ctx context.Context, cycleID string) ([]conductor.ActiveOrganization, error)
	// Conduct looks at the organizations of a stretch, at each once in a cycle. from is where a try
	// before came to; note is told how far this one is.
	Conduct(ctx context.Context, s contract.SandboxRange, from contract.Conducted, note func(contract.Conducted)) (contract.Conducted, error)
	End(ctx context.Context, r contract.ConductReport) error
}

// BeginConductorCycle divides the organizations with agents at work.
func (a *Activities) BeginConductorCycle(ctx context.Context, in contract.CycleRef) (contract.BegunConducting, error) {
	found, err := a.deps.Conductor.Begin(ctx, in.ID)
	out := contract.BegunConducting{Organizations: len(found)}
	ids := make([]string, len(found))
	for n, org := range found {
		ids[n] = org.ID
		out.Agents += org.Agents
	}
	out.Stretches = divide(in.ID, ids)
	return out, err
}

// AnalyzeOrganizations looks at a stretch. A try after one that was cut short goes on behind what that one had done.
func (a *Activities) AnalyzeOrganizations(ctx context.Context, in contract.SandboxRange) (contract.Conducted, error) {
	done, stop := beating[contract.Conducted](ctx)
	defer stop()
	return a.deps.Conductor.Conduct(ctx, in, done.get(), done.set)
}

// EndConductorCycle notes that a cycle came to its end.
func (a *Activities) EndConductorCycle(ctx context.Context, in contract.ConductReport) error {
	return a.deps.Conductor.End(ctx, in)
}
