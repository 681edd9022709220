package acp

import (
	"context"
	"slices"
	"sync"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/event"
)

// changes compares the work tree. A stop ends the comparison that runs; the next one finds what is missing.
type changes struct {
	prepare func() (look lookFunc, stop context.CancelFunc)
	one     *sync.Mutex // held during a comparison
	skipped []string    // paths that were reported last

	mu   *sync.Mutex
	stop context.CancelFunc
	off  bool // no comparison begins until calm
}

// lookFunc returns the changes since its last call. lookFunc returns early when it is stopped.
type lookFunc func() (found []diff.Change, total int, skipped []string)

func newChanges(ctx context.Context, env agent.Env) changes {
	watch, whole := env.Watch(ctx), context.WithoutCancel(ctx) // changes until a stop count
	prepare := func() (lookFunc, context.CancelFunc) {
		ctx, stop := context.WithCancel(whole)
		return func() ([]diff.Change, int, []string) { return watch(ctx) }, stop
	}
	return changes{prepare: prepare, one: &sync.Mutex{}, mu: &sync.Mutex{}, stop: func() {}}
}

// hurry ends the comparison that runs, and allows no other one until calm.
func (c *changes) hurry() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = true
	c.stop()
}

// calm allows comparisons again.
func (c *changes) calm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = false
}

// stopped reports that no comparison was finished since a stop.
func (c *changes) stopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.off
}

func (c *changes) take() (found []diff.Change, total int, skipped []string) {
	c.one.Lock()
	defer c.one.Unlock()
	c.mu.Lock()
	if c.off {
		c.mu.Unlock()
		return nil, 0, nil
	}
	look, stop := c.prepare()
	defer stop()
	c.stop = stop
	c.mu.Unlock()
	return look()
}

// look reports the changes of the work tree since the last comparison. look releases mu meanwhile.
func (r *recorder) look(id string) {
	r.mu.Unlock()
	found, total, skipped := r.changes.take()
	r.mu.Lock()
	for _, c := range found {
		r.files[c.Path] = true
		r.place.Files = max(r.place.Files, len(r.files))
		r.env.Report.Emit(event.AgentFileEdited, c.Data(r.place.Turn, id))
	}
	if total > len(found) || !slices.Equal(skipped, r.changes.skipped) && len(skipped) > 0 {
		r.emit(event.AgentFilesUnreported, map[string]any{"tool_use_id": id, "count": total - len(found), "skipped": skipped})
	}
	if len(skipped) > 0 || !r.changes.stopped() { // else it is unknown what the work tree skips
		r.changes.skipped = skipped
	}
}
