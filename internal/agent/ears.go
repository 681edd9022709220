package agent

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/inbox"
)

// Ears take messages while somebody listens.
type Ears struct {
	Heard chan inbox.Message // closed once nobody listens
	deaf  context.CancelFunc
}

// Listen takes messages until ctx ends, or [Ears.Close].
func Listen(ctx context.Context, box Messages) *Ears {
	ctx, deaf := context.WithCancel(ctx)
	e := &Ears{Heard: make(chan inbox.Message), deaf: deaf}
	go func() {
		defer close(e.Heard)
		for {
			m, err := box.Take(ctx)
			if err != nil {
				return
			}
			e.Heard <- m
		}
	}()
	return e
}

// Close listens no longer. What was won until then is handed out: it must not be lost.
func (e *Ears) Close() (left []inbox.Message) {
	e.deaf()
	for m := range e.Heard {
		left = append(left, m)
	}
	return left
}

const defaultIdle = 10 * time.Minute

// Patience is how long an agent waits for a message: less than the time after which omoi
// takes one that waits for idle, so that it ends in a state of its own choice.
func (e Env) Patience() time.Duration { return or(max(e.Config.Idle, 0), defaultIdle) * 4 / 5 }
