package agent

import (
	"cmp"
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/event"
)

// MessageReceiver receives messages while a runtime waits for them.
type MessageReceiver struct {
	Heard chan inbox.Message // closed when the receiver ends
	stop  context.CancelFunc
}

// Listen receives messages until ctx ends or [MessageReceiver.Close] is called.
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

// Close ends the receiver. Close returns the messages that were received and not read from Heard.
func (r *MessageReceiver) Close() (left []inbox.Message) {
	r.stop()
	for m := range r.Heard {
		left = append(left, m)
	}
	return left
}

// AwaitMessage reports that the agent waits, and returns the message of next. An interrupt has nothing to stop:
// AwaitMessage answers it and waits again. ok is false if no message came in time.
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

// Question is what an agent asks a user.
type Question struct {
	Kind    string // [task.QuestionText] or [task.QuestionPermission]; empty means the former
	Text    string
	Options []string // answers that the agent proposes
}

// data returns the data of [event.AgentWaiting].
func (q Question) data(turn int) map[string]any {
	data := map[string]any{"message": "Ready for messages", "turn": turn, "question": q.Text}
	if q.Kind != "" {
		data["question_kind"] = q.Kind
	}
	if len(q.Options) > 0 {
		data["options"] = q.Options
	}
	return data
}

// Ask reports a question and returns the message with which a user answers, or an interrupt. It waits without a limit, because omoi
// suspends the task if no answer comes. Other messages answer nothing; they are used up.
func (e Env) Ask(ctx context.Context, q Question) (inbox.Message, error) {
	defer e.Doing.SetStatus(reporter.StatusRunning)
	for {
		e.Asks(q)
		m, err := e.Inbox.Take(ctx)
		if err != nil || m.Type == inbox.TypeInterrupt || Answers(m) {
			return m, err
		}
		e.Inbox.Used(m.ID)
	}
}

// Asks reports a question. The agent waits from now on.
func (e Env) Asks(q Question) {
	e.Doing.SetStatus(reporter.StatusWaiting)
	e.Report.Emit(event.AgentWaiting, q.data(e.Doing.Turn()))
}

// Answers reports whether a message can answer a question: a user sent it.
func Answers(m inbox.Message) bool { return m.SenderKind == "" && m.Type == "user_message" }

// Interrupted reports that a message has stopped the agent.
func (e Env) Interrupted(m inbox.Message) {
	e.Report.Emit(event.AgentInterrupted, m.Named(map[string]any{"reason": m.Content, "turn": e.Doing.Turn()}))
	e.Inbox.Used(m.ID)
}

// Drop reports that a message can no longer be delivered.
func (e Env) Drop(m inbox.Message, why string) {
	e.Report.Emit(event.AgentMessageDropped, m.Named(map[string]any{"reason": why}))
	e.Inbox.Used(m.ID)
}

const defaultIdle = 10 * time.Minute

// Patience returns how long an agent waits for a message: 80 % of the idle limit, so that the agent ends by itself
// before omoi takes it for idle.
func (e Env) Patience() time.Duration { return cmp.Or(max(e.Config.Idle, 0), defaultIdle) * 4 / 5 }
