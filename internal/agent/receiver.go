package agent

import (
	"cmp"
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/event"
)

// MessageReceiver takes messages while a runtime waits for them.
type MessageReceiver struct {
	Heard chan inbox.Message // closed once nobody listens
	stop  context.CancelFunc
}

// Listen takes messages until ctx ends, or [MessageReceiver.Close].
func Listen(ctx context.Context, box *inbox.Inbox) *MessageReceiver {
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

// AwaitMessage says that the agent waits, and takes what next hears. An interrupt finds nothing to stop: it is answered, and the wait
// starts again. ok is false if no message came in time.
func (e Env) AwaitMessage(next func() (inbox.Message, bool, error)) (m inbox.Message, ok bool, err error) {
	e.Doing.SetStatus(reporter.StatusWaiting)
	for {
		e.Report.Emit(event.AgentWaiting, map[string]any{"message": "Ready for messages", "turn": e.Doing.Turn()})
		if m, ok, err = next(); !ok || m.Type != inbox.TypeInterrupt {
			return m, ok, err
		}
		e.Interrupted(m)
	}
}

// Interrupted reports that a message has stopped the agent.
func (e Env) Interrupted(m inbox.Message) {
	e.Report.Emit(event.AgentInterrupted, m.Named(map[string]any{"reason": m.Content, "turn": e.Doing.Turn()}))
	e.Inbox.Used(m.ID)
}

// Drop settles a message that can be of no use any more: nobody shall take it for said.
func (e Env) Drop(m inbox.Message, why string) {
	e.Report.Emit(event.AgentMessageDropped, m.Named(map[string]any{"reason": why}))
	e.Inbox.Used(m.ID)
}

const defaultIdle = 10 * time.Minute

// Patience is how long an agent waits for a message: less than the time after which omoi
// takes one that waits for idle, so that it ends in a state of its own choice.
func (e Env) Patience() time.Duration { return cmp.Or(max(e.Config.Idle, 0), defaultIdle) * 4 / 5 }
