package activities

import (
	"context"
	"fmt"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// Guardian judges agents at work, and steers them.
type Guardian interface {
	// Begin notes a cycle and answers the ids of the active sandboxes in their order.
	Begin(ctx context.Context, cycleID string) ([]string, error)
	// Judge judges the sandboxes of a stretch, each once in a cycle, and carries out what is
	// planned for them. from is where a try before came to; note is told how far this one is.
	Judge(ctx context.Context, s contract.SandboxRange, from contract.Judged, note func(contract.Judged)) (contract.Judged, error)
	End(ctx context.Context, r contract.CycleReport) error
}

// stretches is in how many parts a cycle looks at the sandboxes, and leastStretch of how many
// one is at least: an activity for each sandbox would cost more than its judgement.
const (
	stretches    = 20
	leastStretch = 25
)

// BeginGuardianCycle notes that a cycle begins, and divides the active sandboxes.
func (a *Activities) BeginGuardianCycle(ctx context.Context, in contract.CycleRef) (contract.BegunCycle, error) {
	g, err := a.guardian()
	if err != nil {
		return contract.BegunCycle{}, err
	}
	ids, err := g.Begin(ctx, in.ID)
	if err != nil {
		return contract.BegunCycle{}, fmt.Errorf("begin a cycle of the guardian: %w", err)
	}
	return contract.BegunCycle{Active: len(ids), Stretches: divide(in.ID, ids)}, nil
}

func divide(cycleID string, ids []string) []contract.SandboxRange {
	size := max(leastStretch, (len(ids)+stretches-1)/stretches)
	var out []contract.SandboxRange
	after := ""
	for begin := 0; begin < len(ids); begin += size {
		part := ids[begin:min(begin+size, len(ids))]
		upto := part[len(part)-1]
		out = append(out, contract.SandboxRange{CycleID: cycleID, After: after, Upto: upto, Count: len(part)})
		after = upto
	}
	return out
}

// AnalyzeAgents judges a stretch. A try after one that was cut short goes on behind what that
// one had done.
func (a *Activities) AnalyzeAgents(ctx context.Context, in contract.SandboxRange) (contract.Judged, error) {
	g, err := a.guardian()
	if err != nil {
		return contract.Judged{}, err
	}
	done, stop := beating[contract.Judged](ctx)
	defer stop()
	judged, err := g.Judge(ctx, in, done.get(), done.set)
	if err != nil {
		return contract.Judged{}, fmt.Errorf("judge sandboxes: %w", err)
	}
	return judged, nil
}

// EndGuardianCycle notes what a cycle came to.
func (a *Activities) EndGuardianCycle(ctx context.Context, in contract.CycleReport) error {
	g, err := a.guardian()
	if err != nil {
		return err
	}
	return g.End(ctx, in)
}

func (a *Activities) guardian() (Guardian, error) {
	if a.deps.Guardian == nil {
		return nil, task.Errorf(task.CodeUnavailable, "this worker has no guardian")
	}
	return a.deps.Guardian, nil
}
