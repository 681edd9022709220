package activities

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// progress is where a long activity stands: its heartbeat details, from which the next try
// of it resumes. One goroutine tells it, so that an older point never follows a newer one.
type progress[T any] struct {
	moved chan struct{} // holds one notice of a new point

	mu    sync.Mutex
	point T
}

// set moves the resume point; it is told at once, without waiting for it.
func (p *progress[T]) set(point T) {
	p.mu.Lock()
	p.point = point
	p.mu.Unlock()
	select {
	case p.moved <- struct{}{}:
	default:
	}
}

func (p *progress[T]) get() T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.point
}

// beating starts heartbeats with a resume point that begins where the last try stood. The
// caller stops them; stop waits until the last one is out.
func beating[T any](ctx context.Context) (p *progress[T], stop func()) {
	p = &progress[T]{moved: make(chan struct{}, 1)}
	if activity.HasHeartbeatDetails(ctx) {
		var last T
		if activity.GetHeartbeatDetails(ctx, &last) == nil {
			p.point = last
		}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		p.beat(ctx, done)
	}()
	return p, sync.OnceFunc(func() {
		close(done)
		<-ended
	})
}

// beat tells where the activity stands until it is done or told to end, and then once more:
// what a failed try had done goes with its failure.
func (p *progress[T]) beat(ctx context.Context, done <-chan struct{}) {
	ticker := time.NewTicker(beatEvery(activity.GetInfo(ctx).HeartbeatTimeout))
	defer ticker.Stop()
	for {
		activity.RecordHeartbeat(ctx, p.get())
		select {
		case <-done:
			activity.RecordHeartbeat(ctx, p.get())
			return
		case <-ctx.Done():
			return
		case <-p.moved:
		case <-ticker.C:
		}
	}
}

// longestBeat is how late an activity learns that a user has cancelled it: with the answer to a heartbeat.
const longestBeat = 2 * time.Second

// beatEvery is well below the timeout; a worker that died is noticed by the timeout alone.
func beatEvery(timeout time.Duration) time.Duration {
	if timeout <= 0 {
		return longestBeat
	}
	return min(max(timeout/5, 50*time.Millisecond), longestBeat)
}
