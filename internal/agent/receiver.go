package agent

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/inbox"
)

// MessageReceiver takes messages while somebody listens.
type MessageReceiver struct {
	Heard chan inbox.Message // closed once nobody listens
	stop  context.CancelFunc
}

// Listen takes messages until ctx ends, or [MessageReceiver.Close].
func Listen(ctx context.Context, box Messages) *MessageReceiver {
	ctx, stop := context.WithCancel(ctx)
	r := &MessageReceiver{Heard: make(chan inbox.Message), stop: stop}
	go func() {
		defer close(r.Heard)
		for {
			m, err := box.Take(ctx)
			if err != nil {
				return
			}
			r.Heard <- m
		}
	}()
	return r
}

// Close listens no longer. What was won until then is handed out: it must not be lost.
func (r *MessageReceiver) Close() (left []inbox.Message) {
	r.stop()
	for m := range r.Heard {
		left = append(left, m)
	}
	return left
}

const defaultIdle = 10 * time.Minute

// Patience is how long an agent waits for a message: less than the time after which omoi
// takes one that waits for idle, so that it ends in a state of its own choice.
func (e Env) Patience() time.Duration { return or(max(e.Config.Idle, 0), defaultIdle) * 4 / 5 }
