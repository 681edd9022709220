// Package lookout watches over the sandboxes in reach of one worker. It tells the workflow of a task when its
// sandbox, or the agent in it where the provider can tell at no cost, has ended without a word: the workflow looks for itself then, and would otherwise do
// so when the agent has been silent for long. Nothing depends on it, so it forgets what it saw with its process.
package lookout

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Box is a sandbox whose agent should be at work.
type Box struct {
	TaskID string
	Labels sandbox.Labels
}

// Store knows which sandboxes there should be.
type Store interface {
	// SandboxesAtWork are those of a provider that a worker on this host reaches and no tail reads.
	SandboxesAtWork(ctx context.Context, hostID, provider string) ([]Box, error)
}

// Config of a [Lookout]. Zero values mean the defaults named here.
type Config struct {
	HostID string
	Near   time.Duration // between looks at sandboxes of this machine; default 2 s
	Far    time.Duration // between looks at those of others, whose providers count calls; default 30 s
	Again  time.Duration // until the same end is told again; default 1 min
	// Installation is whose sandboxes are kept to their disks; nil: nobody's.
	Installation func(context.Context) (string, error)
	// Tell has the workflow of a task look at a sandbox.
	Tell func(ctx context.Context, taskID, sandboxID string) error
}

// Lookout looks after sandboxes.
type Lookout struct {
	cfg       Config
	store     Store
	providers []sandbox.Provider
	log       *slog.Logger
}

// New makes a lookout over those of the providers that have machines.
func New(cfg Config, store Store, providers []sandbox.Provider, log *slog.Logger) *Lookout {
	cfg.Near = cmp.Or(cfg.Near, 2*time.Second)
	cfg.Far = cmp.Or(cfg.Far, 30*time.Second)
	cfg.Again = cmp.Or(cfg.Again, time.Minute)
	l := &Lookout{cfg: cfg, store: store, log: log}
	for _, p := range providers {
		if p.Capabilities().Machine {
			l.providers = append(l.providers, p)
		}
	}
	return l
}

// Run looks until ctx ends. Providers are looked at side by side: one that hangs delays no other.
func (l *Lookout) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, p := range l.providers {
		all.Go(func() { l.watch(ctx, p) })
		if keeper, ok := p.(sandbox.DiskKeeper); ok && l.cfg.Installation != nil {
			all.Go(func() { l.keepDisks(ctx, keeper) })
		}
	}
	all.Wait()
}

// keepDisks has a provider count what its sandboxes hold. An engine that is away is told of once.
func (l *Lookout) keepDisks(ctx context.Context, keeper sandbox.DiskKeeper) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	installation := ""
	for failed := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := l.keepOnce(ctx, keeper, &installation)
		if err != nil && !failed && ctx.Err() == nil {
			l.log.WarnContext(ctx, "cannot count what sandboxes hold; trying on", slog.String("error", err.Error()))
		}
		failed = err != nil
	}
}

// keepOnce asks which installation this is until it is known; it stays the same.
func (l *Lookout) keepOnce(ctx context.Context, keeper sandbox.DiskKeeper, installation *string) (err error) {
	const longest = 5 * time.Minute // an engine may have much to count
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if *installation == "" {
		if *installation, err = l.cfg.Installation(ctx); err != nil {
			return err
		}
	}
	return keeper.KeepDisks(ctx, *installation)
}

func (l *Lookout) watch(ctx context.Context, p sandbox.Provider) {
	every := l.cfg.Far
	if p.Capabilities().HostBound {
		every = l.cfg.Near
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	w := watch{Lookout: l, provider: p, ended: map[string]time.Time{}}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.round(ctx)
		}
	}
}

// watch is that over one provider.
type watch struct {
	*Lookout

	provider sandbox.Provider
	ended    map[string]time.Time // those that were seen to have ended, and when that is to be told (again)
}

// round looks once. What was seen to have ended in two rounds is told: one that ends as it should says so
// itself, and that gets a moment to arrive.
func (w *watch) round(ctx context.Context) {
	boxes, err := w.store.SandboxesAtWork(ctx, w.cfg.HostID, w.provider.Name())
	if err != nil {
		w.log.DebugContext(ctx, "sandboxes at work not read", slog.String("error", err.Error()))
		return
	}
	before := w.ended
	w.ended = make(map[string]time.Time)
	for _, box := range w.doubtful(ctx, boxes) {
		if !w.over(ctx, box.Labels) {
			continue
		}
		due, seen := before[box.Labels.SandboxID]
		if seen && !time.Now().Before(due) {
			w.tell(ctx, box)
			due = time.Now().Add(w.cfg.Again)
		}
		w.ended[box.Labels.SandboxID] = due
	}
}

// doubtful leaves out what the provider's list of the living names.
func (w *watch) doubtful(ctx context.Context, boxes []Box) []Box {
	lister, ok := w.provider.(sandbox.Roller)
	if !ok || len(boxes) == 0 {
		return boxes
	}
	living := make(map[string]map[string]bool)
	var left []Box
	for _, box := range boxes {
		installation := box.Labels.Installation
		if _, asked := living[installation]; !asked {
			found, err := lister.Living(ctx, installation)
			if err != nil {
				w.log.DebugContext(ctx, "living sandboxes not listed", slog.String("provider", w.provider.Name()), slog.String("error", err.Error()))
				return nil
			}
			living[installation] = found
		}
		if !living[installation][box.Labels.SandboxID] {
			left = append(left, box)
		}
	}
	return left
}

// lookTimeout bounds the look at one sandbox.
const lookTimeout = 20 * time.Second

// over reports what the provider is sure of: the sandbox is gone, or what was started in it has ended.
func (w *watch) over(ctx context.Context, labels sandbox.Labels) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	seen, err := w.provider.Inspect(ctx, labels)
	if err != nil {
		return task.CodeOf(err) == task.CodeNotFound
	}
	return seen.State == sandbox.StateGone || seen.State == sandbox.StateAlive && seen.Agent == sandbox.StateGone
}

func (w *watch) tell(ctx context.Context, box Box) {
	id := slog.String("sandbox_id", box.Labels.SandboxID)
	w.log.DebugContext(ctx, "sandbox or agent has ended; the task is to look", id)
	if err := w.cfg.Tell(ctx, box.TaskID, box.Labels.SandboxID); err != nil && ctx.Err() == nil && task.CodeOf(err) != task.CodeGone {
		w.log.WarnContext(ctx, "end of a sandbox not told", id, slog.String("error", err.Error()))
	}
}
