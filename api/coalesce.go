package api

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

// place is the cursor of readers of a sandbox.
type place struct {
	id    string
	after int64
}

// taskPlace is the cursor of readers of a task.
type taskPlace struct {
	id    string
	after ingest.Cursor
}

// tenantTask is a task of an organization.
type tenantTask struct{ organization, id string }

// shared lets concurrent callers with the same question share one query. A caller gets the result of a query that
// started after its call, so that the result includes what caused the call. At most two queries for one key are running
// or waiting, however many callers there are.
type shared[K comparable, V any] struct {
	slots chan struct{} // one for each concurrent query
	limit time.Duration // of a query
	most  int           // different keys at once; 0: no maximum
	mu    sync.Mutex
	under map[K]*answer[V]
	log   *slog.Logger
}

// mostLooks is the maximum number of database connections used by readers of streams, for each kind of query. It keeps
// connections free for agents that report events.
const mostLooks = 4

func newShared[K comparable, V any](log *slog.Logger) *shared[K, V] {
	const limit = 30 * time.Second
	return &shared[K, V]{slots: make(chan struct{}, mostLooks), limit: limit, under: map[K]*answer[V]{}, log: log}
}

// answer is one query and its result.
type answer[V any] struct {
	ready chan struct{}
	value V
	err   error
	next  *answer[V] // for the callers during this query; nil: none
}

// ask returns the result of fn for the key. fn does not end with ctx and may also run for later callers, so its result
// must depend on the key only.
func (s *shared[K, V]) ask(ctx context.Context, key K, fn func(context.Context, K) (V, error)) (V, error) {
	mine := s.join(ctx, key, fn)
	select {
	case <-mine.ready:
		return mine.value, mine.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

func (s *shared[K, V]) join(ctx context.Context, key K, fn func(context.Context, K) (V, error)) *answer[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if running := s.under[key]; running != nil {
		if running.next == nil {
			running.next = &answer[V]{ready: make(chan struct{})}
		}
		return running.next
	}
	first := &answer[V]{ready: make(chan struct{})}
	if s.most > 0 && len(s.under) >= s.most {
		first.err = task.Errorf(task.CodeUnavailable, "Too many such requests wait. Next: send the request again in a moment").WithKind(task.KindOverloaded)
		close(first.ready)
		return first
	}
	s.under[key] = first
	go s.run(context.WithoutCancel(ctx), key, first, fn)
	return first
}

// run runs the query, and the next ones while callers wait for them.
func (s *shared[K, V]) run(ctx context.Context, key K, a *answer[V], fn func(context.Context, K) (V, error)) {
	for a != nil {
		s.slots <- struct{}{}
		limited, cancel := context.WithTimeout(ctx, s.limit)
		a.find(limited, s.log, func(ctx context.Context) (V, error) { return fn(ctx, key) })
		cancel()
		<-s.slots
		s.mu.Lock()
		if a = a.next; a != nil {
			s.under[key] = a
		} else {
			delete(s.under, key)
		}
		s.mu.Unlock()
	}
}

func (a *answer[V]) find(ctx context.Context, log *slog.Logger, fn func(context.Context) (V, error)) {
	defer close(a.ready)
	defer caught(log, &a.err)
	if a.value, a.err = fn(ctx); errors.Is(a.err, context.DeadlineExceeded) {
		a.err = task.Errorf(task.CodeUnavailable, "The request took too long. Next: send it again in a moment").WithKind(task.KindTimeout).WithCause(a.err)
	}
}
