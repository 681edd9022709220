package claude

import (
	"context"
	"slices"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
)

// attend listens while something else is done. An interrupt and the time limit end that; what
// else is said waits for the next turn.
func (t *talk) attend(ctx context.Context, end *turn, do func(context.Context)) {
	came := t.receiver.Attend(ctx, t.limits.time, do)
	end.stopping, t.later = append(end.stopping, came.Interrupts...), append(t.later, came.Rest...)
	if came.TimeOver {
		end.stop = continuous.StopTime
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
	t.env.TooLate(slices.Concat(t.later, left))
	t.later = nil
}
