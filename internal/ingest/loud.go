package ingest

import (
	"hash/fnv"
	"sync"
)

// LargeRequest is the maximum number of bytes of a request that shares a transaction with those of other sandboxes: a
// full batch of omoi-agent, 512 KiB, does. Larger requests have a committer of their own, one transaction at a time.
const LargeRequest = 640 << 10

// loud counts the large requests of each sandbox that wait or are being stored. Until then their sandbox's row is
// locked, and a shared transaction with it would wait for that lock.
type loud struct {
	mu sync.Mutex
	of map[string]int
}

// joins reports whether a request goes to the committer of large requests, and counts it there.
func (l *loud) joins(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := w.request.SandboxID
	if w.size <= LargeRequest && l.of[id] == 0 {
		return false
	}
	if l.of == nil {
		l.of = map[string]int{}
	}
	l.of[id]++
	w.loud = true
	return true
}

func (l *loud) leaves(w *waiter) {
	if !w.loud {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id := w.request.SandboxID
	if l.of[id]--; l.of[id] == 0 {
		delete(l.of, id)
	}
}

// lane returns the queue of a request: single posts in the first, since few fit into a transaction and more committers
// would leave fewer; large requests in the last; batches in the others, by sandbox.
func (i *Intake) lane(w *waiter) chan *waiter {
	if i.loud.joins(w) {
		return i.lanes[len(i.lanes)-1]
	}
	if w.request.SpoolID == "" {
		return i.lanes[0]
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(w.request.SandboxID))
	return i.lanes[1+int(sum.Sum32()%committers)]
}

// Turn lets one large request at a time be decoded, so that small ones find a processor. The zero value is ready.
type Turn struct{ mu sync.Mutex }

// Take waits until a request of size bytes may be decoded; call done afterwards.
func (t *Turn) Take(size int) (done func()) {
	if size <= LargeRequest {
		return func() {}
	}
	t.mu.Lock()
	return t.mu.Unlock
}
