package command

import (
	"context"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// stand waits after an interrupt for a word on how to go on. A program that is told nothing does not go on
// against the will of who stopped it.
func (r *run) stand(ctx context.Context) (*step, agent.Result, error) {
	if r.env.Config.ReadsMessages {
		if ok, err := r.await(ctx, r.env.Patience()); ok || err != nil {
			return &step{}, agent.Result{}, err
		}
	}
	return nil, r.fail(map[string]any{
		"error":       "The agent was interrupted, and no message came that says how to go on.",
		"reason_code": task.ReasonInterrupted,
		"error_type":  "interrupted", "failure_class": string(task.ClassStopped), "phase": "initial_task", "stop_reason": "interrupted",
	}), nil
}

// addition is what is said of work that is done: before the program is taken for done, where the task
// asks to wait for that, and in the last moment.
func (r *run) addition(ctx context.Context, patience time.Duration) (*step, error) {
	if r.env.Config.ReadsMessages && r.env.Config.WaitForMessages && patience > 0 {
		if ok, err := r.await(ctx, patience); ok || err != nil {
			return &step{}, err
		}
	}
	r.later = append(r.later, r.receiver.Close()...)
	r.receiver = agent.Listen(ctx, r.env.Inbox)
	r.later = slices.DeleteFunc(r.later, func(m inbox.Message) bool {
		if m.Type == inbox.TypeInterrupt {
			r.env.Interrupted(m) // there is nothing left to stop
		}
		return m.Type == inbox.TypeInterrupt
	})
	if len(r.later) > 0 && r.env.Config.ReadsMessages {
		return &step{}, nil
	}
	return nil, nil //nolint:nilnil // nobody has said anything
}

// await waits for a message, and says so. ok is false if none came in time.
func (r *run) await(ctx context.Context, patience time.Duration) (ok bool, err error) {
	if len(r.later) > 0 {
		return true, nil
	}
	m, ok, err := r.env.AwaitMessage(func() (inbox.Message, bool, error) { return r.hear(ctx, patience) })
	if !ok || err != nil {
		return false, err
	}
	r.later = append(r.later, m)
	return true, nil
}

func (r *run) hear(ctx context.Context, patience time.Duration) (m inbox.Message, ok bool, err error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case m, ok = <-r.receiver.Heard:
		return m, ok, ctx.Err()
	case <-timer.C:
		return m, false, nil
	case <-ctx.Done():
		return m, false, ctx.Err()
	}
}

// tooLate settles what was taken up and can be of no use any more: nobody shall take it for said.
// An agent that was stopped from outside keeps it for when it is started again.
func (r *run) tooLate(ctx context.Context) {
	left := r.receiver.Close()
	if ctx.Err() != nil {
		return
	}
	r.env.TooLate(append(r.later, left...))
	r.later = nil
}

// attend listens while something else is done. An interrupt and the time limit end that; what
// else is said waits for the next run.
func (r *run) attend(ctx context.Context, e *end, do func(context.Context)) {
	came := r.receiver.Attend(ctx, r.time, do)
	for _, m := range came.Interrupts {
		e.interrupted = true
		r.env.Interrupted(m)
	}
	r.later = append(r.later, came.Rest...)
	if came.TimeOver {
		e.stop = continuous.StopTime
	}
}
