package continuous

import (
	"context"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// stand waits after an interrupt for a message that says how to continue; older messages do not count. Without such a
// message the attempt fails as interrupted.
func (d *Driver) stand(ctx context.Context) (*Step, agent.Result, error) {
	next, err := d.await(ctx, d.Env.Patience())
	if next != nil || err != nil {
		return next, agent.Result{}, err
	}
	return nil, d.fail(&Failure{
		Class: task.ClassStopped, Kind: "interrupted", Reason: "interrupted", Code: task.ReasonInterrupted,
		Text: "The agent was interrupted, and no message arrived that says how to continue.",
	}), nil
}

// await waits for a message and reports that; nil: none arrived in time, or the agent reads no messages.
func (d *Driver) await(ctx context.Context, patience time.Duration) (*Step, error) {
	if d.Deaf || patience <= 0 {
		return nil, nil //nolint:nilnil // no message is awaited
	}
	m, ok, err := d.Env.AwaitMessage(func() (inbox.Message, bool, error) { return d.Agent.Next(ctx, patience) })
	if !ok || err != nil {
		return nil, err
	}
	return &Step{Of: m}, nil
}

// addition returns a message that came after the work was done: while the task waits for messages, while the program
// ends, or at the last moment. If there is none, the receiver is closed.
func (d *Driver) addition(ctx context.Context, end *Turn, patience time.Duration) (*Step, *Failure, error) {
	if d.Env.Config.WaitForMessages && len(d.Later) == 0 {
		if next, err := d.await(ctx, patience); next != nil || err != nil {
			return next, nil, err
		}
	}
	if next := d.lastWord(ctx); next != nil {
		return next, nil, nil // the program still runs and can read it
	}
	d.Receiver = agent.Listen(ctx, d.Env.Inbox)
	f, interrupted := d.Agent.Close(ctx)
	end.Interrupted = end.Interrupted || interrupted
	if err := ctx.Err(); err != nil || interrupted {
		return nil, nil, err
	}
	return d.lastWord(ctx), f, nil
}

// lastWord closes the receiver and returns the first message left in it. If there is one, lastWord opens another
// receiver.
func (d *Driver) lastWord(ctx context.Context) *Step {
	d.Later = slices.DeleteFunc(append(d.Later, d.Receiver.Close()...), func(m inbox.Message) bool {
		if m.Type == inbox.TypeInterrupt {
			d.Env.Interrupted(m) // there is nothing left to stop
		}
		return m.Type == inbox.TypeInterrupt
	})
	if len(d.Later) == 0 || d.Deaf {
		return nil
	}
	next := &Step{Of: d.Later[0]}
	d.Receiver, d.Later = agent.Listen(ctx, d.Env.Inbox), d.Later[1:]
	return next
}

// attend receives messages during do. An interrupt or the time limit ends do; other messages wait for the next turn.
// After an interrupt, attend receives no more messages.
func (d *Driver) attend(ctx context.Context, end *Turn, do func(context.Context)) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(ctx)
	}()
	for heard, limit := d.Receiver.Heard, d.Time; ; {
		select {
		case <-done:
			return
		case <-limit:
			end.Stop, limit = StopTime, nil
			stop()
		case m, ok := <-heard:
			switch {
			case !ok:
				heard = nil
			case m.Type == inbox.TypeInterrupt:
				end.Interrupted, heard = true, nil
				stop()
				defer d.Env.Interrupted(m)
			default:
				d.Later = append(d.Later, m)
			}
		}
	}
}

// TooLate settles messages that can no longer be delivered, so that they do not count as delivered. An agent that was
// stopped from outside keeps them for its restart.
func (d *Driver) TooLate(ctx context.Context) {
	left := d.Receiver.Close()
	if ctx.Err() != nil {
		return
	}
	for _, m := range append(d.Later, left...) {
		if m.Type == inbox.TypeInterrupt {
			d.Env.Interrupted(m) // there is nothing left to stop
		} else {
			d.Env.Drop(m, "the agent ended first")
		}
	}
	d.Later = nil
}

// Next waits for a message. Next suits an agent that does nothing else meanwhile.
func (d *Driver) Next(ctx context.Context, patience time.Duration) (m inbox.Message, ok bool, err error) {
	select {
	case m, ok = <-d.Receiver.Heard:
		return m, ok, ctx.Err()
	case <-time.After(patience):
		return m, false, nil
	case <-ctx.Done():
		return m, false, ctx.Err()
	}
}
