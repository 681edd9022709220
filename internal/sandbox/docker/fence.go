package docker

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/fence"
	"github.com/omoi-dev/omoi/internal/task"
)

// lateCreate is how long after its caller's death the engine may carry out a create.
const lateCreate = 30 * time.Second

// locked acts on a sandbox that nobody else makes or removes meanwhile. The lock is held until
// the engine has answered, even if the caller has given up.
func (p *Provider) locked(ctx context.Context, labels sandbox.Labels, act func(context.Context, *fence.Fence) error) error {
	if err := labels.Check(); err != nil {
		return err
	}
	f, err := fence.Take(ctx, p.fenceOf(labels))
	if err != nil {
		return err
	}
	defer f.Release()
	ctx, cancel := settled(ctx)
	defer cancel()
	return act(ctx, f)
}

func (p *Provider) fenceOf(labels sandbox.Labels) string {
	return filepath.Join(p.cfg.StateDir, task.SandboxName(labels.SandboxID))
}

// Prune implements [sandbox.Pruner].
func (p *Provider) Prune(now time.Time) error { return fence.Prune(p.cfg.StateDir, now) }

// asking notes that the engine is asked to make something, until it has answered.
func asking(f *fence.Fence, ask func() error) error {
	now := time.Now().UTC()
	f.Asked = &now
	if err := f.Write(); err != nil {
		return err
	}
	err := ask()
	if err != nil && !answered(err) {
		return err
	}
	f.Asked = nil
	return errors.Join(err, f.Write())
}

// settles is how long a create that nobody heard the answer of may still appear.
func settles(f *fence.Fence, now time.Time) time.Duration {
	if f.Asked == nil {
		return 0
	}
	return max(f.Asked.Add(lateCreate).Sub(now), 0)
}
