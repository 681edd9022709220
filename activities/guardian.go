package activities

import (
	"context"

	"github.com/omoi-dev/omoi/internal/contract"
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
	ids, err := a.deps.Guardian.Begin(ctx, in.ID)
	return contract.BegunCycle{Active: len(ids), Stretches: divide(in.ID, ids)}, err
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
	done, stop := beating[contract.Judged](ctx)
	defer stop()
	return a.deps.Guardian.Judge(ctx, in, done.get(), done.set)
}

// EndGuardianCycle notes what a cycle came to.
func (a *Activities) EndGuardianCycle(ctx context.Context, in contract.CycleReport) error {
	return a.deps.Guardian.End(ctx, in)
}
