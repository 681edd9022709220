package claude

import (
	"context"
	"slices"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/event"
)

// attend listens while something else is done. An interrupt and the time limit end that; what
// else is said waits for the next turn.
func (t *talk) attend(ctx context.Context, end *turn, do func(ctx context.Context)) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(ctx)
	}()
	heard := t.receiver.Heard
	for {
		select {
		case <-done:
			return
		case <-t.limits.time:
			end.stop = continuous.StopTime
			stop()
		case m, ok := <-heard:
			switch {
			case !ok:
				heard = nil
			case m.Type == inbox.TypeInterrupt:
				end.stopping, heard = append(end.stopping, m), nil
				stop()
			default:
				t.later = append(t.later, m)
			}
		}
	}
}

// sayMore brings what came while nothing could be told.
func (t *talk) sayMore(end *turn) {
	more := t.later
	t.later = nil
	for _, m := range more {
		t.hear(end, m)
	}
}

// sayAgain keeps what the program had not taken up when it ended.
func (t *talk) sayAgain() {
	for _, m := range t.unheard {
		if m.ID != "" {
			t.later = append(t.later, m)
		}
	}
	t.unheard = map[string]inbox.Message{}
}

// tooLate settles what was taken up and can be of no use any more: nobody shall take it for said.
// An agent that was stopped from outside keeps it for when it is started again.
func (t *talk) tooLate(ctx context.Context) {
	left := t.receiver.Close()
	if ctx.Err() != nil {
		return
	}
	t.sayAgain()
	for _, m := range slices.Concat(t.later, left) {
		if m.Type == inbox.TypeInterrupt {
			t.interrupted(m) // there is nothing left to stop
			continue
		}
		t.env.Report.Emit(event.AgentMessageDropped, m.Named(map[string]any{"reason": "the agent ended first"}))
		t.env.Inbox.Used(m.ID)
	}
	t.later = nil
}
