package claude

import (
	"context"
	"sync"

	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/event"
)

// looks are those at the work tree, one at a time. They give way to an interrupt: what one of
// them has not seen the next one sees.
type looks struct {
	prepare func() (look lookFunc, stop context.CancelFunc)

	one sync.Mutex // held by who looks

	mu     sync.Mutex
	look   lookFunc           // nil: there is no time for one
	stop   context.CancelFunc // ends it
	missed bool               // none was made since there was no time
}

// lookFunc tells what has changed since it was asked last; it gives up when it is stopped.
type lookFunc func() (found []diff.Change, total int, skipped []string)

// hurry ends the look that is under way, and keeps others from beginning until calm.
func (k *looks) hurry() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.look, k.missed = nil, true
	k.stop()
}

func (k *looks) calm() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.look == nil {
		k.look, k.stop = k.prepare()
	}
}

// take looks once, if there is time.
func (k *looks) take() (found []diff.Change, total int, skipped []string) {
	k.one.Lock()
	defer k.one.Unlock()
	k.mu.Lock()
	look := k.look
	k.missed = look == nil
	k.mu.Unlock()
	if look == nil {
		return nil, 0, nil
	}
	return look()
}

// behind reports whether a look was missed, and none was made since.
func (k *looks) behind() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.missed
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
