// Package sandboxwatch watches over the sandboxes in reach of one worker. It tells the workflow of a task when its
// sandbox, or the agent in it, has ended without a word: the workflow looks for itself then, and would otherwise do
// so when the agent has been silent for long. A provider elsewhere counts calls: it is asked about few sandboxes at a time, and
// about those alone that have just become silent. Nothing depends on it, so it forgets what it saw with its process.
package sandboxwatch

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
	Silent time.Duration // since it was last heard of
}

// Store knows which sandboxes there should be.
type Store interface {
	// SandboxesAtWork are those of a provider that a worker on this host reaches and no tail reads.
	SandboxesAtWork(ctx context.Context, hostID, provider string) ([]Box, error)
}

// near is the time between looks at sandboxes of this host, which cost a few system calls.
const near = 2 * time.Second

// Config of a [Watcher]. Zero values mean the defaults named here.
type Config struct {
	HostID string
	Far    Far           // looks at those of others
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

// New makes a lookout over those of the providers that have machines.
func New(cfg Config, store Store, providers []sandbox.Provider, log *slog.Logger) *Watcher {
	cfg.Far = cfg.Far.withDefaults()
	cfg.Again = cmp.Or(cfg.Again, time.Minute)
	l := &Watcher{cfg: cfg, store: store, log: log}
	for _, p := range providers {
		if p.Capabilities().Machine {
			l.providers = append(l.providers, p)
		}
	}
	return l
}

// Run looks until ctx ends. Providers are looked at side by side: one that hangs delays no other.
func (l *Watcher) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, p := range l.providers {
		all.Go(func() { l.watch(ctx, p) })
		if keeper, ok := p.(sandbox.DiskKeeper); ok && l.cfg.Installation != nil {
			all.Go(func() { l.keepDisks(ctx, keeper) })
		}
		if pruner, ok := p.(sandbox.Pruner); ok {
			all.Go(func() { l.prune(ctx, pruner) })
		}
	}
	all.Wait()
}

// prune has a provider remove old tombstones each hour; its start does so too.
func (l *Watcher) prune(ctx context.Context, pruner sandbox.Pruner) {
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if err := pruner.Prune(now); err != nil {
				l.log.WarnContext(ctx, "prune tombstones failed", slog.String("error", err.Error()))
			}
		}
	}
}

// keepDisks has a provider count what its sandboxes hold. An engine that is away is told of once.
func (l *Watcher) keepDisks(ctx context.Context, keeper sandbox.DiskKeeper) {
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
func (l *Watcher) keepOnce(ctx context.Context, keeper sandbox.DiskKeeper, installation *string) (err error) {
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

func (l *Watcher) watch(ctx context.Context, p sandbox.Provider) {
	w := newWatch(l, p)
	defer w.looks.Wait()
	ticker := time.NewTicker(w.every())
	defer ticker.Stop()
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
	*Watcher

	provider sandbox.Provider
	far      bool
	looks    sync.WaitGroup // those that are under way elsewhere

	mu     sync.Mutex           // guards what follows
	ended  map[string]time.Time // those that were seen to have ended, and when that is to be told (again)
	looked map[string]time.Time // when those of others were looked at
	mute   map[string]time.Time // those of whom the last look got no answer in time
	busy   map[string]bool      // those that are being looked at
}

func newWatch(l *Watcher, p sandbox.Provider) *watch {
	return &watch{
		Watcher: l, provider: p, far: !p.Capabilities().HostBound,
		ended: map[string]time.Time{}, looked: map[string]time.Time{}, mute: map[string]time.Time{}, busy: map[string]bool{},
	}
}

func (w *watch) every() time.Duration {
	if w.far {
		return w.cfg.Far.Every
	}
	return near
}

// round looks once. What was seen to have ended in two looks is told: one that ends as it should says so
// itself, and that gets a moment to arrive.
func (w *watch) round(ctx context.Context) {
	boxes, err := w.store.SandboxesAtWork(ctx, w.cfg.HostID, w.provider.Name())
	if err != nil {
		w.log.DebugContext(ctx, "sandboxes at work not read", slog.String("error", err.Error()))
		return
	}
	w.mu.Lock()
	w.ended, w.looked, w.mute = still(w.ended, boxes), still(w.looked, boxes), still(w.mute, boxes)
	w.mu.Unlock()
	if w.far {
		w.roundElsewhere(ctx, boxes)
		return
	}
	for _, box := range w.doubtful(ctx, boxes) {
		w.look(ctx, box)
	}
}

// still keeps what is known of those that are at work.
func still(known map[string]time.Time, boxes []Box) map[string]time.Time {
	kept := make(map[string]time.Time, len(known))
	for _, box := range boxes {
		if at, ok := known[box.Labels.SandboxID]; ok {
			kept[box.Labels.SandboxID] = at
		}
	}
	return kept
}

// look looks at one sandbox, and tells its end if that was seen before.
func (w *watch) look(ctx context.Context, box Box) {
	over, answered := w.over(ctx, box.Labels)
	if w.note(box.Labels.SandboxID, over, answered) {
		w.tell(ctx, box)
	}
}

// note keeps what a look came to, and reports whether an end is to be told.
func (w *watch) note(id string, over, answered bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	delete(w.busy, id)
	delete(w.mute, id)
	if w.looked[id] = now; !answered {
		w.mute[id] = now
	}
	due, seen := w.ended[id]
	if !over {
		delete(w.ended, id)
		return false
	}
	tell := seen && !now.Before(due)
	if tell {
		due = now.Add(w.cfg.Again)
	}
	w.ended[id] = due
	return tell
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
		if living[installation][box.Labels.SandboxID] {
			w.forget(box.Labels.SandboxID)
		} else {
			left = append(left, box)
		}
	}
	return left
}

// forget takes an end back: its sandbox lives.
func (w *watch) forget(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.ended, id)
}

// lookTimeout bounds the look at one sandbox.
const lookTimeout = 20 * time.Second

// over reports what the provider is sure of: the sandbox is gone, or what was started in it has ended; and whether it answered in time.
func (w *watch) over(ctx context.Context, labels sandbox.Labels) (over, answered bool) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	seen, err := w.provider.Inspect(ctx, labels)
	answered = ctx.Err() == nil
	if err != nil {
		return task.CodeOf(err) == task.CodeNotFound, answered
	}
	return seen.State == sandbox.StateGone || seen.State == sandbox.StateAlive && seen.Agent == sandbox.StateGone, answered
}

func (w *watch) tell(ctx context.Context, box Box) {
	id := slog.String("sandbox_id", box.Labels.SandboxID)
	w.log.DebugContext(ctx, "sandbox or agent has ended; the task is to look", id)
	if err := w.cfg.Tell(ctx, box.TaskID, box.Labels.SandboxID); err != nil && ctx.Err() == nil && task.CodeOf(err) != task.CodeGone {
		w.log.WarnContext(ctx, "end of a sandbox not told", id, slog.String("error", err.Error()))
	}
}
