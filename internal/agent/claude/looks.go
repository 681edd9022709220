package claude

import (
	"context"
	"slices"
	"sync"

	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/event"
)

// looks serializes the comparisons of the work tree. An interrupt ends the current one; the next one finds the missing
// changes.
type looks struct {
	prepare func() (look lookFunc, stop context.CancelFunc)

	one sync.Mutex // held during a comparison

	mu     sync.Mutex
	look   lookFunc           // nil: comparisons are disabled
	stop   context.CancelFunc // ends the current comparison
	missed bool               // a comparison was skipped
}

// lookFunc returns the changes since its last call. lookFunc returns early when it is stopped.
type lookFunc func() (found []diff.Change, total int, skipped []string)

// hurry ends the current comparison and disables further ones until calm.
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

// take compares once, unless comparisons are disabled.
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

// behind reports whether the last comparison was skipped.
func (k *looks) behind() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.missed
}

// look reports the changes of the work tree since the last comparison. look releases mu meanwhile.
func (r *recorder) look(l *line, id string) {
	r.mu.Unlock()
	found, total, skipped := r.looks.take()
	r.mu.Lock()
	for _, c := range found {
		r.seen[c.Path] = true
		r.edited(l, c, id)
	}
	if total > len(found) || !slices.Equal(skipped, r.skipped) && len(skipped) > 0 {
		r.emit(event.AgentFilesUnreported, l, map[string]any{"tool_use_id": id, "count": total - len(found), "skipped": skipped})
	}
	r.skipped = skipped
}

// catchUp makes a skipped comparison.
func (r *recorder) catchUp() {
	if r.looks.behind() {
		r.look(nil, "")
	}
}

// caughtUp is catchUp for callers that do not hold mu.
func (r *recorder) caughtUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.catchUp()
}
