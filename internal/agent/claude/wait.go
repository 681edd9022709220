package claude

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/event"
)

// await waits for a message, and says so. ok is false if none came in time. An interrupt finds
// nothing to stop: it is answered, and the wait begins anew.
func (t *talk) await(ctx context.Context, patience time.Duration) (m inbox.Message, ok bool, err error) {
	t.env.Doing.SetStatus(reporter.StatusWaiting)
	for {
		t.env.Report.Emit(event.AgentWaiting, map[string]any{"message": "Ready for messages", "turn": t.env.Doing.Turn()})
		m, ok, err = t.next(ctx, patience)
		if !ok || m.Type != inbox.TypeInterrupt {
			return m, ok, err
		}
		t.env.Interrupted(m)
	}
}

// next is the next message. What the program says meanwhile, about tasks in its background, is
// only recorded.
func (t *talk) next(ctx context.Context, patience time.Duration) (m inbox.Message, ok bool, err error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	ended, past := t.prog.done, &turn{late: timer.C} // nothing of it is to be stopped
	for {
		select {
		case <-ctx.Done():
			t.halt()
			return m, false, ctx.Err()
		case <-timer.C:
			return m, false, nil
		case m, ok = <-t.receiver.Heard:
			return m, ok, ctx.Err()
		case l := <-t.prog.notices:
			t.noticed(past, l)
		case <-ended:
			ended = nil
		}
	}
}
