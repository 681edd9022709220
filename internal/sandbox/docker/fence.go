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

// lateCreate is the time after the death of a caller in which the engine may still carry out its create.
const lateCreate = 30 * time.Second

// locked runs act with the lock of the sandbox. The caller's cancellation does not reach act, so that the lock is held
// until the engine answers.
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

// asking records in the fence that the engine is creating a container, until the engine answers.
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

// settles returns how long an unanswered create may still take effect.
func settles(f *fence.Fence, now time.Time) time.Duration {
	if f.Asked == nil {
		return 0
	}
	return max(f.Asked.Add(lateCreate).Sub(now), 0)
}
