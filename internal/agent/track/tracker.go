// Package track returns trees of a work tree at a small cost. inotify reports which paths changed, and only these are read. What
// inotify cannot see, for example a write through a memory mapping or a hard link, is found by a scan of all files from time to
// time ([gitcmd.Shadow.Take]). Where the host refuses watches, scans alone remain.
//
// Blobs and trees are written as loose objects of the shadow repository, so that every git process can read them at once.
package track

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

// Config says what is tracked.
type Config struct {
	// Shadow has a begun index and keeps bytes. From Open on, only the tracker takes snapshots with Shadow.
	Shadow *gitcmd.Shadow
	Log    *slog.Logger
	// Scan is the shortest time between two scans without watches; with watches, the shortest time is twice as long. Zero is 15 s.
	// Scans take at most 1 % of the time, 2 % without watches.
	Scan time.Duration
	// Watches limits the number of watched folders. Zero: only the host limits them.
	Watches int
}

// Snapshot is the state of a work tree.
type Snapshot struct {
	Tree    string    // ID of the tree object
	At      time.Time // when its files were read
	Torn    bool      // files changed while they were read, so that they may be of different moments
	Skipped []string  // what the tree leaves out, one sentence each, at most 20
}

// Stats counts what a tracker did since [Open].
type Stats struct {
	Scans   int
	Found   int // paths whose change only a scan found
	Watches int // folders that are watched now; zero where scans alone remain
}

// Tracker keeps the tree of a work tree. Its methods may be called at the same time.
type Tracker struct {
	cfg    Config
	shadow *gitcmd.Shadow
	caps   gitcmd.Caps
	top    string // the work tree

	free            chan struct{} // has a value unless a method works
	watch           *watch        // nil where scans alone remain
	objects         *objects
	ignores         ignores
	root            *node
	views           []*View
	bytesAfterPrune int64             // bytes that the last Prune left
	staleIndexPaths map[string]bool   // changed since the last scan, so that the index of the shadow lacks them
	leftOut         map[string]string // paths that are left out, with the sentence that says why
	scanNeeded      bool              // a repository inside the work tree changed, which only a scan reads
	last            scanned
	torn            bool
	stats           Stats
}

// Open begins to watch and scans once.
func Open(ctx context.Context, cfg Config) (*Tracker, error) {
	cfg.Scan = cmp.Or(cfg.Scan, 15*time.Second)
	t := &Tracker{
		cfg: cfg, shadow: cfg.Shadow, caps: cfg.Shadow.Caps(), free: make(chan struct{}, 1),
		staleIndexPaths: map[string]bool{}, leftOut: map[string]string{}, ignores: newIgnores(cfg.Shadow.Git),
	}
	var err error
	if t.top, err = filepath.EvalSymlinks(t.shadow.WorkTree); err != nil {
		return nil, fmt.Errorf("find the work tree: %w", err)
	}
	tree, err := t.shadow.Run(ctx, "write-tree", "--missing-ok")
	if err != nil {
		return nil, err
	}
	if t.objects, err = openObjects(cfg.Shadow.Git, len(tree)); err != nil {
		return nil, err
	}
	t.root = folder(tree)
	if err := t.restart(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("scan the work tree: %w", err), t.close())
	}
	t.unlock()
	return t, nil
}

// lock waits until no other method works, or ctx ends.
func (t *Tracker) lock(ctx context.Context) error {
	select {
	case <-t.free:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *Tracker) unlock() { t.free <- struct{}{} }

// Shadow returns the repository that has the trees.
func (t *Tracker) Shadow() *gitcmd.Shadow { return t.shadow }

// Close ends the watches and the git processes.
func (t *Tracker) Close() error {
	<-t.free
	defer t.unlock()
	return t.close()
}

func (t *Tracker) close() error {
	t.ignores.stop()
	t.objects.cat.stop()
	if t.watch == nil {
		return nil
	}
	defer func() { t.watch = nil }()
	return t.watch.close()
}

// Take returns the tree of the work tree without ignored files. The tree equals that of [gitcmd.Shadow.Take], except for changes
// that only a scan sees. Take scans if a scan is due. Call Take after each tool call, and every few seconds while an agent works.
// Without watches, Take returns the tree of the last scan until a scan is due; At says which.
func (t *Tracker) Take(ctx context.Context) (Snapshot, error) {
	return t.take(ctx, false)
}

// Scan is Take with a scan, whether due or not.
func (t *Tracker) Scan(ctx context.Context) (Snapshot, error) {
	return t.take(ctx, true)
}

// Dirty reports whether the next Take may return other files than an earlier snapshot has: a [View] may have read changes since. Changes
// that only a scan sees do not count. Without watches, Dirty reports whether a scan is due.
func (t *Tracker) Dirty(since Snapshot) bool {
	<-t.free
	defer t.unlock()
	if t.watch == nil {
		return t.due()
	}
	return t.scanNeeded || t.torn || t.root.id != since.Tree || !slices.Equal(t.skipped(), since.Skipped) || t.watch.dirty()
}

// Stats returns the counters.
func (t *Tracker) Stats() Stats {
	<-t.free
	defer t.unlock()
	stats := t.stats
	if t.watch != nil {
		stats.Watches = t.watch.count()
	}
	return stats
}

func (t *Tracker) take(ctx context.Context, scan bool) (snap Snapshot, err error) {
	if err := t.lock(ctx); err != nil {
		return snap, err
	}
	defer t.unlock()
	return t.snapshot(ctx, scan)
}

func (t *Tracker) snapshot(ctx context.Context, scan bool) (snap Snapshot, err error) {
	if t.torn, err = t.settle(ctx, scan); err == nil {
		err = t.objects.tree(t.root)
	}
	if err != nil {
		t.markLost()
		return Snapshot{}, err
	}
	snap = Snapshot{Tree: t.last.tree, At: t.last.at, Torn: t.torn, Skipped: t.skipped()}
	if t.watch != nil {
		snap.Tree, snap.At = t.root.id, time.Now()
	}
	t.root.all = nil // reading some folders again costs less than the memory of all
	return snap, nil
}

// markLost makes the next call scan and replace all watches, because changes were lost.
func (t *Tracker) markLost() {
	t.torn = true
	t.last.at = time.Time{}
	if t.watch != nil {
		t.watch.markLost()
	}
}

func (t *Tracker) skipped() []string {
	all := slices.Sorted(maps.Values(t.leftOut))
	return all[:min(len(all), 20)]
}

// tries is the number of times that files are read again because they changed meanwhile.
const tries = 5

// settle updates the tree.
func (t *Tracker) settle(ctx context.Context, scan bool) (torn bool, err error) {
	if t.watch == nil {
		return t.scanAlone(ctx, scan)
	}
	if torn, err = t.follow(ctx); err != nil || t.watch == nil || !scan && !t.due() {
		return torn, err
	}
	if err := t.scan(ctx, true); err != nil {
		return false, err
	}
	return t.follow(ctx)
}

// follow reads reported changes until no more are reported.
func (t *Tracker) follow(ctx context.Context) (torn bool, err error) {
	for range tries + 1 {
		if t.watch == nil { // the host refused a watch
			return t.scanAlone(ctx, true)
		}
		c := t.watch.drain()
		c.rules = t.shadow.CopyExclude() || c.rules // later, so that it is not older than the changes
		n, err := t.apply(ctx, c)
		if err != nil || n == 0 {
			return false, err
		}
	}
	return true, nil
}

// set changes one entry; nil removes the path and all below.
func (t *Tracker) set(ctx context.Context, path string, to *node) (changed bool, err error) {
	old, err := t.objects.find(ctx, t.root, path)
	if err != nil || same(old, to) {
		return false, err
	}
	err = t.objects.walk(ctx, old, path, func(path string) { t.staleIndexPaths[path] = true })
	if err != nil {
		return false, err
	}
	if to != nil {
		t.staleIndexPaths[path] = true
	}
	return true, t.objects.put(ctx, t.root, strings.Split(path, "/"), to)
}
