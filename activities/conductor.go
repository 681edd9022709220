package activities

import (
	"context"
	"fmt"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// Conductor looks at the agents of organizations together.
type Conductor interface {
	// Begin answers the organizations with agents at work, in the order of their ids.
	Begin(ctx context.Context, cycleID string) ([]task.ConductedOrganization, error)
	// Conduct looks at the organizations of a stretch, at each once in a cycle. from is where a try
	// before came to; note is told how far this one is.
	Conduct(ctx context.Context, s contract.SandboxRange, from contract.Conducted, note func(contract.Conducted)) (contract.Conducted, error)
	End(ctx context.Context, r contract.ConductReport) error
}

// BeginConductorCycle divides the organizations with agents at work.
func (a *Activities) BeginConductorCycle(ctx context.Context, in contract.CycleRef) (contract.BegunConducting, error) {
	c, err := a.conductor()
	if err != nil {
		return contract.BegunConducting{}, err
	}
	found, err := c.Begin(ctx, in.ID)
	if err != nil {
		return contract.BegunConducting{}, fmt.Errorf("begin a cycle of the conductor: %w", err)
	}
	out := contract.BegunConducting{Organizations: len(found)}
	ids := make([]string, len(found))
	for n, org := range found {
		ids[n] = org.ID
		out.Agents += org.Agents
	}
	out.Stretches = divide(in.ID, ids)
	return out, nil
}

// AnalyzeOrganizations looks at a stretch. A try after one that was cut short goes on behind what that one had done.
func (a *Activities) AnalyzeOrganizations(ctx context.Context, in contract.SandboxRange) (contract.Conducted, error) {
	c, err := a.conductor()
	if err != nil {
		return contract.Conducted{}, err
	}
	done, stop := beating[contract.Conducted](ctx)
	defer stop()
	out, err := c.Conduct(ctx, in, done.get(), done.set)
	if err != nil {
		return contract.Conducted{}, fmt.Errorf("look at fleets: %w", err)
	}
	return out, nil
}

// EndConductorCycle notes that a cycle came to its end.
func (a *Activities) EndConductorCycle(ctx context.Context, in contract.ConductReport) error {
	c, err := a.conductor()
	if err != nil {
		return err
	}
	return c.End(ctx, in)
}

func (a *Activities) conductor() (Conductor, error) {
	if a.deps.Conductor == nil {
		return nil, task.Errorf(task.CodeUnavailable, "this worker has no conductor")
	}
	return a.deps.Conductor, nil
}
