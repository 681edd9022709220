// Package sandboxwatch watches over the sandboxes in reach of one worker. It tells the workflow of a task when its
// sandbox, or the agent in it, has ended without a word: the workflow looks for itself then, and would otherwise do
// so when the agent has been silent for long. Nothing depends on it, so it forgets what it saw with its process.
package sandboxwatch

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Box is a sandbox whose agent should be active.
type Box struct {
	TaskID string
	Labels sandbox.Labels
	Silent time.Duration // since it was last heard of
}

// Store knows which sandboxes there should be.
type Store interface {
	// SandboxesAtWork are those of a provider that a worker on this host reaches and no tail reads.
	SandboxesAtWork(ctx context.Context, hostID, provider string) ([]Box, error)
}

// Config of a [Watcher]. Zero values mean the defaults named here.
type Config struct {
	HostID string
	Again  time.Duration // until the same end is told again; default 1 min
	// Installation is whose sandboxes are kept to their disks; nil: nobody's.
	Installation func(context.Context) (string, error)
	// Tell has the workflow of a task look at a sandbox.
	Tell func(ctx context.Context, taskID, sandboxID string) error
}

// Watcher looks after sandboxes.
type Watcher struct {
	cfg       Config
	store     Store
	providers []sandbox.Provider
	log       *slog.Logger
}

// New makes a watcher over the sandboxes of those providers that have machines.
func New(cfg Config, store Store, providers []sandbox.Provider, log *slog.Logger) *Watcher {
	cfg.Again = cmp.Or(cfg.Again, time.Minute)
	w := &Watcher{cfg: cfg, store: store, log: log}
	for _, p := range providers {
		if p.Capabilities().Machine {
			w.providers = append(w.providers, p)
		}
	}
	return w
}

// Run watches until ctx ends. Providers are asked side by side: one that hangs delays no other.
func (w *Watcher) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, p := range w.providers {
		all.Go(func() { w.watch(ctx, p) })
		if keeper, ok := p.(sandbox.DiskKeeper); ok && w.cfg.Installation != nil {
			all.Go(func() { w.keepDisks(ctx, keeper) })
		}
		if pruner, ok := p.(sandbox.Pruner); ok {
			all.Go(func() { w.prune(ctx, pruner) })
		}
	}
	all.Wait()
}

// prune has a provider remove old tombstones each hour; its start does so too.
func (w *Watcher) prune(ctx context.Context, pruner sandbox.Pruner) {
	for wait.For(ctx, time.Hour) == nil {
		if err := pruner.Prune(time.Now()); err != nil {
			w.log.WarnContext(ctx, "prune tombstones failed", slog.String("error", err.Error()))
		}
	}
}

// keepDisks has a provider count what its sandboxes hold. An engine that is away is logged once.
func (w *Watcher) keepDisks(ctx context.Context, keeper sandbox.DiskKeeper) {
	installation, failed := "", false
	for wait.For(ctx, time.Second) == nil {
		err := w.keepOnce(ctx, keeper, &installation)
		if err != nil && !failed && ctx.Err() == nil {
			w.log.WarnContext(ctx, "measure disks of sandboxes failed; retrying", slog.String("error", err.Error()))
		}
		failed = err != nil
	}
}

// keepOnce asks which installation this is until it is known; it stays the same.
func (w *Watcher) keepOnce(ctx context.Context, keeper sandbox.DiskKeeper, installation *string) (err error) {
	const longest = 5 * time.Minute // an engine may have much to count
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if *installation == "" {
		if *installation, err = w.cfg.Installation(ctx); err != nil {
			return err
		}
	}
	return keeper.KeepDisks(ctx, *installation)
}
