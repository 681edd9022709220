package claude

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/inbox"
)

// await waits for a message, and says so. ok is false if none came in time.
func (t *talk) await(ctx context.Context, patience time.Duration) (m inbox.Message, ok bool, err error) {
	return t.env.AwaitMessage(func() (inbox.Message, bool, error) { return t.next(ctx, patience) })
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
