package acp

import (
	"cmp"
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/uptime"
)

// stopLoop and stopSilent end a turn, beside the limits of package continuous.
const (
	stopLoop   = "loop"
	stopSilent = "silent"
)

// turn is the end of a turn.
type turn struct {
	open        []delivery // requests without an answer; the first one is the prompt
	first       int        // messages of the model before the answer to the prompt
	folded      []delivery // answered prompts that were to join the turn
	result      *answer    // nil: the turn ended without a result
	refused     *jsonrpc.Error
	said        string
	stopping    []inbox.Message
	interrupted bool
	stop        string // why omoi stopped the turn; empty: it did not
	ended       bool   // the program has ended too
	exit        proc.Result
	late        <-chan time.Time
}

// limit returns the limit at which the turn was stopped; empty: none.
func (e *turn) limit() string {
	if e.stop == stopLoop || e.stop == stopSilent {
		return ""
	}
	return e.stop
}

// done reports whether the prompt and all messages to the turn were answered.
func (e *turn) done() bool { return e.ended || len(e.open) == 0 }

// converse runs a turn with a text, and delivers messages to it. The error is that of ctx. Messages that waited for the
// turn are a part of its text.
func (t *talk) converse(ctx context.Context, text string, of []inbox.Message) error {
	end := t.end
	t.Env.Doing.SetStatus(reporter.StatusRunning)
	t.rec.prompted(text, of)
	t.prompt(text, delivery{messages: of})
	defer t.keepSoon(ctx)()
	silent, limit := uptime.After(t.Silence), t.Time
	for !end.done() {
		select {
		case <-ctx.Done():
			t.halt()
			t.rec.settle(nil, true)
			return ctx.Err()
		case m, ok := <-t.Receiver.Heard:
			if ok {
				t.hear(m)
			}
		case f := <-end.open[0].done:
			t.answered(0, f)
		case f := <-second(end.open):
			t.answered(1, f)
		case why := <-t.rec.full:
			t.stop(why)
		case <-limit:
			limit = nil // it stays closed
			t.stop(continuous.StopTime)
		case <-silent:
			silent = t.listen()
		case <-end.late:
			t.conn.stop()
		case <-t.conn.Drained:
			t.drain()
		}
	}
	t.over()
	return ctx.Err()
}

// second returns the channel of the second open request; it blocks without one.
func second(open []delivery) <-chan reply {
	if len(open) < 2 {
		return nil
	}
	return open[1].done
}

// listen stops the turn of an agent that has been silent for too long. While a tool runs, its own timeout applies.
func (t *talk) listen() <-chan struct{} {
	now, most := t.rec.now(), t.Silence
	if now.busy {
		most = max(most, t.Env.Config.ToolTimeout)
	}
	if left := most - (uptime.Now() - now.last); left > 0 {
		return uptime.After(left)
	}
	t.stop(stopSilent)
	return nil
}

// stop cancels the turn, and kills the program if the turn does not end in time.
func (t *talk) stop(why string) {
	end := t.end
	end.stop = cmp.Or(end.stop, why)
	if end.late != nil {
		return
	}
	end.late = time.After(t.CancelWait)
	t.rec.refuse()
	if t.conn.notify("session/cancel", map[string]any{"sessionId": t.place.SessionID}) != nil {
		t.conn.stop()
	}
}

// drain takes the answers that an ended program has left.
func (t *talk) drain() {
	end := t.end
	for at := 0; at < len(end.open); {
		select {
		case f := <-end.open[at].done:
			t.answered(at, f)
		default:
			at++
		}
	}
	end.ended, end.exit = true, t.conn.Result
}

// over settles a turn. A program whose turn was stopped is killed with its children, which may otherwise go on changing
// the work tree.
func (t *talk) over() {
	end := t.end
	if end.late != nil {
		t.halt()
		if !end.ended {
			end.ended, end.exit = true, t.conn.Result
		}
	}
	for _, m := range end.stopping {
		end.interrupted = true
		t.Env.Interrupted(m)
	}
	t.unread()
	t.rec.settle(end.result, end.result == nil)
	t.fresh = false
	if end.ended {
		t.unfollow()
	}
	end.said = t.rec.now().said
	t.keep()
	t.Save()
}

// halt kills the program with its children.
func (t *talk) halt() {
	if t.conn == nil || t.conn.over() {
		return
	}
	t.rec.refuse()
	t.conn.stop()
	<-t.conn.Drained
}

// refuse refuses open permissions, and ends the comparison of the work tree that runs.
func (r *recorder) refuse() {
	r.changes.hurry()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = true
}

// reached returns the limit that allows no further request to the model; empty: none.
func (t *talk) reached() string {
	now := t.rec.now()
	switch {
	case t.Limits.Cost > 0 && now.Spent.usd() >= t.Limits.Cost:
		return continuous.StopCost
	case t.Limits.Turns > 0 && !t.Env.Config.Continuous && now.Turn >= t.Limits.Turns:
		return continuous.StopTurns
	}
	return ""
}
