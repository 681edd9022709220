package activities

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// progress is the resume point of a long activity: its heartbeat details, from which the next try continues. One
// goroutine sends it, so that an older point never follows a newer one.
type progress[T any] struct {
	moved chan struct{} // signals a new point

	mu    sync.Mutex
	point T
}

// set moves the resume point and triggers a heartbeat without waiting for it.
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

// beating starts heartbeats with the resume point of the last try. The caller must call stop, which returns after the
// last heartbeat.
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
		p.run(ctx, done)
	}()
	return p, sync.OnceFunc(func() {
		close(done)
		<-ended
	})
}

// run sends heartbeats until the activity ends, and a last one then: the next try needs the progress of a failed one.
func (p *progress[T]) run(ctx context.Context, done <-chan struct{}) {
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

// longestBeat is the maximum time between two heartbeats. An activity learns of a cancel from the answer to its
// heartbeat.
const longestBeat = 2 * time.Second

// beatEvery returns the heartbeat interval for a timeout. The timeout alone detects a dead worker.
func beatEvery(timeout time.Duration) time.Duration {
	if timeout <= 0 {
		return longestBeat
	}
	return min(max(timeout/5, 50*time.Millisecond), longestBeat)
}
