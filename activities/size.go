package activities

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// ensure makes the sandbox of a row or adopts it. The attempt after one that ran out of memory or disk gets the next
// size up, where its provider can, and its sandbox says so.
func (a *Activities) ensure(ctx context.Context, p place) (sandbox.Sandbox, error) {
	if !p.machine() { // it is a name under which an agent elsewhere reports
		return sandbox.Sandbox{ProviderID: task.SandboxName(p.row.ID), Isolation: []string{"none"}, CreatedAt: time.Now().UTC()}, nil
	}
	want, grown, err := a.spec(ctx, p)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	made, err := p.provider.Ensure(ctx, want)
	if grown {
		made.Isolation = append(slices.Clip(made.Isolation), larger(made))
	}
	return made, ofHost(err)
}

func larger(made sandbox.Sandbox) string {
	if made.FixedSize {
		return "no next size up: its snapshot has a size of its own"
	}
	return "next size up asked for"
}

// spec is what a sandbox of ours is made of. It is the same whenever it is asked for: what earlier attempts came to
// does not change.
func (a *Activities) spec(ctx context.Context, p place) (want sandbox.Spec, grown bool, err error) {
	want = sandbox.Spec{Labels: p.labels, Limits: a.cfg.Limits, Network: a.cfg.Network, Lifetime: a.cfg.Lifetime}
	if p.row.Attempt <= 1 {
		return want, false, nil
	}
	times, err := a.deps.Ledger.RanOut(ctx, p.row.TaskID, p.row.Attempt)
	if err != nil {
		return want, false, fmt.Errorf("read what size the sandbox needs: %w", err)
	}
	if times > 0 {
		want.Limits = want.Limits.Grown(times)
	}
	return want, times > 0, nil
}
