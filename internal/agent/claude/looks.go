package claude

import (
	"context"
	"sync"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/event"
)

// looks are those at the work tree, one at a time. They give way to an interrupt: what one of
// them has not seen the next one sees.
type looks struct {
	// changes tells what has changed since it was asked last; it gives up when cut is closed.
	changes func(cut <-chan struct{}) (found []diff.Change, total int, skipped []string)

	one sync.Mutex // held by who looks

	mu      sync.Mutex
	hurried bool
	missed  bool
	cut     chan struct{} // of the look that is under way; nil: there is none
}

// newLooks also look after ctx has ended, since what was done by then counts.
func newLooks(ctx context.Context, env agent.Env) *looks {
	watch := env.Watch(ctx)
	return &looks{changes: func(cut <-chan struct{}) ([]diff.Change, int, []string) {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		defer stop()
		go func() {
			select {
			case <-cut:
				stop()
			case <-ctx.Done():
			}
		}()
		return watch(ctx, maxEdits)
	}}
}

// hurry ends the look that is under way, and keeps others from beginning until calm.
func (k *looks) hurry() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hurried = true
	if k.cut != nil {
		close(k.cut)
		k.cut, k.missed = nil, true
	}
}

func (k *looks) calm() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hurried = false
}

// behind reports whether a look was missed, and none was made since.
func (k *looks) behind() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.missed
}

// take looks once.
func (k *looks) take() (found []diff.Change, total int, skipped []string) {
	k.one.Lock()
	defer k.one.Unlock()
	cut := k.begin()
	if cut == nil {
		return nil, 0, nil
	}
	found, total, skipped = k.changes(cut)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut = nil
	return found, total, skipped
}

// begin is nil where there is no time for a look.
func (k *looks) begin() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.missed = k.hurried; k.hurried {
		return nil
	}
	k.cut = make(chan struct{})
	return k.cut
}

// look reports what has changed in the work tree since it was looked at last. It lets go of mu
// meanwhile.
func (r *recorder) look(l *line, id string) {
	r.mu.Unlock()
	found, total, skipped := r.looks.take()
	r.mu.Lock()
	for _, c := range found {
		r.seen[c.Path] = true
		r.edited(l, c, id)
	}
	if total > len(found) || len(skipped) > 0 {
		r.emit(event.AgentFilesUnreported, l, map[string]any{"tool_use_id": id, "count": total - len(found), "skipped": skipped})
	}
}

// catchUp makes a look that was missed.
func (r *recorder) catchUp() {
	if r.looks.behind() {
		r.look(nil, "")
	}
}

// caughtUp is [recorder.catchUp] for who does not hold mu.
func (r *recorder) caughtUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.catchUp()
}
