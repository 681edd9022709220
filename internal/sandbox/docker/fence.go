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

func (p *Provider) fence(ctx context.Context, labels sandbox.Labels) (*fence.Fence, error) {
	return fence.Take(ctx, filepath.Join(p.cfg.StateDir, task.SandboxName(labels.SandboxID)))
}

// Prune implements [sandbox.Pruner].
func (p *Provider) Prune(now time.Time) error { return fence.Prune(p.cfg.StateDir, now) }

// asking notes that the engine is asked to make something, until it has answered.
func asking(f *fence.Fence, labels sandbox.Labels, ask func() error) error {
	now := time.Now().UTC()
	f.Labels, f.Asked = labels, &now
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
