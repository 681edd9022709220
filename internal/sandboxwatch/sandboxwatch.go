// Package sandboxwatch watches over the sandboxes in reach of one worker. It tells the workflow of a task when its
// sandbox, or the agent in it, has ended without a word: the workflow looks for itself then, and would otherwise do
// so when the agent has been silent for long. Nothing depends on it, so it forgets what it saw with its process.
package sandboxwatch

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
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
			w.log.WarnContext(ctx, "prune tombstones failed, retrying in an hour", slog.String("error", err.Error()))
		}
	}
}

// keepDisks has a provider count what its sandboxes hold. An engine that is away is logged once.
func (w *Watcher) keepDisks(ctx context.Context, keeper sandbox.DiskKeeper) {
	installation, failed := "", false
	for wait.For(ctx, time.Second) == nil {
		err := w.keepOnce(ctx, keeper, &installation)
		if err != nil && !failed && ctx.Err() == nil {
			w.log.WarnContext(ctx, "measure sandbox disks failed, retrying", slog.String("error", err.Error()))
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

// pace is how often the sandboxes of a provider are looked at.
type pace struct {
	every  time.Duration // between rounds
	silent time.Duration // for how long nothing was heard of those that are looked at
	pause  time.Duration // between two looks at one that lives
	most   int           // looks that begin in a round
}

// paceOf asks providers elsewhere gently, since they count calls. A look at a sandbox of this host costs a few system calls.
func paceOf(p sandbox.Provider) pace {
	if p.Capabilities().HostBound {
		return pace{every: 2 * time.Second, most: 100}
	}
	return pace{every: 3 * time.Second, silent: 5 * time.Second, pause: 15 * time.Second, most: 5}
}

const (
	// roundsAtOnce is for how many rounds looks may be under way, so that those at sandboxes that do not answer delay no others.
	roundsAtOnce = 4
	// lookTimeout bounds the look at one sandbox.
	lookTimeout = 20 * time.Second
)

// watch is the watch over one provider.
type watch struct {
	*Watcher

	provider sandbox.Provider
	pace     pace
	looks    sync.WaitGroup

	mu   sync.Mutex
	seen map[string]*sight // by sandbox ID; guarded by mu
	busy int               // looks under way; guarded by mu
}

// sight is what the looks at one sandbox came to.
type sight struct {
	looked time.Time // when the last look ended
	due    time.Time // when its end is to be told (again); zero: it was not seen to have ended
	busy   bool      // a look is under way
}

func newWatch(w *Watcher, p sandbox.Provider) *watch {
	return &watch{Watcher: w, provider: p, pace: paceOf(p), seen: map[string]*sight{}}
}

func (w *Watcher) watch(ctx context.Context, p sandbox.Provider) {
	one := newWatch(w, p)
	defer one.looks.Wait()
	for wait.For(ctx, one.pace.every) == nil {
		one.round(ctx)
	}
}

// round begins looks and waits for none: the next round does not wait for a sandbox that answers nothing. What was seen to have ended
// in two looks is told: an agent that ends as it should reports that itself, and its report gets a moment to arrive.
func (w *watch) round(ctx context.Context) {
	boxes, err := w.store.SandboxesAtWork(ctx, w.cfg.HostID, w.provider.Name())
	if err != nil {
		w.log.DebugContext(ctx, "list active sandboxes failed", slog.String("error", err.Error()))
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.seen
	w.seen = make(map[string]*sight, len(boxes))
	for _, box := range boxes {
		w.seen[box.Labels.SandboxID] = cmp.Or(known[box.Labels.SandboxID], &sight{})
	}
	for _, box := range w.due(boxes) {
		s := w.seen[box.Labels.SandboxID]
		s.busy, w.busy = true, w.busy+1
		w.looks.Go(func() { w.look(ctx, box, s) })
	}
}

// due returns the sandboxes to look at now: first those whose end is to be confirmed, then those that were not looked at for the
// longest time, of these the most silent.
func (w *watch) due(boxes []Box) []Box {
	of := func(box Box) *sight { return w.seen[box.Labels.SandboxID] }
	boxes = slices.DeleteFunc(slices.Clone(boxes), func(box Box) bool {
		switch s := of(box); {
		case s.busy:
			return true
		case !s.due.IsZero():
			return time.Now().Before(s.due)
		default:
			return box.Silent < w.pace.silent || time.Since(s.looked) < w.pace.pause
		}
	})
	slices.SortStableFunc(boxes, func(a, b Box) int {
		return cmp.Or(of(b).due.Compare(of(a).due), of(a).looked.Compare(of(b).looked), cmp.Compare(b.Silent, a.Silent))
	})
	return boxes[:max(0, min(len(boxes), w.pace.most, roundsAtOnce*w.pace.most-w.busy))]
}

// look looks at one sandbox, and tells its end if that was seen before.
func (w *watch) look(ctx context.Context, box Box, s *sight) {
	over := w.over(ctx, box.Labels)
	w.mu.Lock()
	now, again := time.Now(), over && !s.due.IsZero()
	s.busy, s.looked, w.busy = false, now, w.busy-1
	switch {
	case again:
		s.due = now.Add(w.cfg.Again)
	case over:
		s.due = now
	default:
		s.due = time.Time{}
	}
	w.mu.Unlock()
	if again {
		w.tell(ctx, box)
	}
}

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
	w.log.DebugContext(ctx, "end of agent detected", id)
	if err := w.cfg.Tell(ctx, box.TaskID, box.Labels.SandboxID); err != nil && ctx.Err() == nil && task.CodeOf(err) != task.CodeGone {
		w.log.WarnContext(ctx, "signal end of sandbox failed, waiting for the next check of the task", id, slog.String("error", err.Error()))
	}
}
