package api

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShared_ConcurrentCallersShareAQuery has 50 callers during a running query: one more query runs for all of them, and it
// starts after their calls.
func TestShared_ConcurrentCallersShareAQuery(t *testing.T) {
	t.Parallel()
	s := newShared[string, int64](slog.New(slog.DiscardHandler))
	var asked atomic.Int64
	begun, goOn := make(chan struct{}, 1), make(chan struct{})
	question := func(context.Context, string) (int64, error) {
		n := asked.Add(1)
		begun <- struct{}{}
		<-goOn
		return n, nil
	}
	first := s.join(t.Context(), "a", question)
	<-begun
	var all sync.WaitGroup
	for range 50 {
		next := s.join(t.Context(), "a", question)
		all.Go(func() {
			<-next.ready
			if next.value != 2 {
				t.Errorf("got the answer %d, which was begun before", next.value)
			}
		})
	}
	close(goOn)
	<-first.ready
	all.Wait()
	require.EqualValues(t, 1, first.value)
	require.EqualValues(t, 2, asked.Load())
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.under, "nothing is kept once nobody asks")
}

// TestShared_BoundsConcurrentQueries has more concurrent callers than queries may run.
func TestShared_BoundsConcurrentQueries(t *testing.T) {
	t.Parallel()
	const keys = 5 * mostLooks
	s := newShared[int, int](slog.New(slog.DiscardHandler))
	var under atomic.Int64
	begun, goOn := make(chan int64, keys), make(chan struct{})
	question := func(context.Context, int) (int, error) {
		begun <- under.Add(1)
		<-goOn
		under.Add(-1)
		return 0, nil
	}
	answers := make([]*answer[int], keys)
	for key := range keys {
		answers[key] = s.join(t.Context(), key, question)
	}
	for range mostLooks {
		<-begun
	}
	close(goOn)
	for _, a := range answers {
		<-a.ready
	}
	for range keys - mostLooks {
		require.LessOrEqual(t, <-begun, int64(mostLooks))
	}
}

// TestShared_CancelledCallerKeepsTheQuery cancels the caller for which the query runs.
func TestShared_CancelledCallerKeepsTheQuery(t *testing.T) {
	t.Parallel()
	s := newShared[string, string](slog.New(slog.DiscardHandler))
	ctx, leave := context.WithCancel(t.Context())
	begun, goOn := make(chan struct{}, 2), make(chan struct{})
	question := func(ctx context.Context, _ string) (string, error) {
		begun <- struct{}{}
		<-goOn
		return "found", ctx.Err()
	}
	mine := s.join(ctx, "a", question)
	<-begun
	leave()
	_, err := s.ask(ctx, "a", question)
	require.ErrorIs(t, err, context.Canceled)
	close(goOn)
	<-mine.ready
	require.NoError(t, mine.err)
	require.Equal(t, "found", mine.value)
}

// A panic affects one query only; the process and the next query continue.
func TestShared_PanicIsAnError(t *testing.T) {
	t.Parallel()
	s := newShared[string, string](slog.New(slog.DiscardHandler))
	var asked atomic.Int32
	find := func(context.Context, string) (string, error) {
		if asked.Add(1) == 1 {
			panic("oh")
		}
		return "found", nil
	}
	_, err := s.ask(t.Context(), "a", find)
	require.ErrorContains(t, err, "oh")
	found, err := s.ask(t.Context(), "a", find)
	require.NoError(t, err)
	require.Equal(t, "found", found)
}
