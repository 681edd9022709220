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

// place is where readers of a sandbox stand.
type place struct {
	id    string
	after int64
}

// taskPlace is where readers of a task stand.
type taskPlace struct {
	id    string
	after ingest.Cursor
}

// tenantTask is a task as one organization sees it.
type tenantTask struct{ organization, id string }

// shared lets many who ask the same at the same time share an answer. Whoever asks gets one
// that was begun after he asked: what he was woken for is in it. So of any number of askers
// of one key two questions are under way or wait.
type shared[K comparable, V any] struct {
	slots chan struct{} // one for each question that may be under way
	mu    sync.Mutex
	under map[K]*answer[V]
	log   *slog.Logger
}

// mostLooks is how many connections to the database readers of streams may take at a time,
// for each kind of question: however many there are, agents can report.
const mostLooks = 4

func newShared[K comparable, V any](log *slog.Logger) *shared[K, V] {
	return &shared[K, V]{slots: make(chan struct{}, mostLooks), under: map[K]*answer[V]{}, log: log}
}

// answer is one question and what it found.
type answer[V any] struct {
	ready chan struct{}
	value V
	err   error
	next  *answer[V] // of those who asked while this one was under way; nil: nobody
}

// ask answers with what fn finds for the key. fn does not end with ctx, and may be called for
// those who ask later, so that it goes by its key alone.
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
	s.under[key] = first
	go s.run(context.WithoutCancel(ctx), key, first, fn)
	return first
}

// run finds the answer, and the next ones while somebody waits for them.
func (s *shared[K, V]) run(ctx context.Context, key K, a *answer[V], fn func(context.Context, K) (V, error)) {
	for a != nil {
		s.slots <- struct{}{}
		a.find(ctx, s.log, func(ctx context.Context) (V, error) { return fn(ctx, key) })
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
	const limit = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer close(a.ready)
	defer caught(log, &a.err)
	if a.value, a.err = fn(ctx); errors.Is(a.err, context.DeadlineExceeded) {
		a.err = task.Errorf(task.CodeUnavailable, "The request took too long. Next: send it again in a moment").WithKind(task.KindTimeout).WithCause(a.err)
	}
}
