package acp

import (
	"maps"
	"slices"

	"github.com/omoi-dev/omoi/internal/agent/claude"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/openhands/bridge"
)

// How a message reached the agent.
const (
	inTurn   = "in the turn"
	asPrompt = "as a prompt"
)

// delivery is a request with a text, and the messages that the text comes from, if any.
type delivery struct {
	messages []inbox.Message
	by       Steering // how it reaches the running turn; empty: it is the prompt
	done     <-chan reply
	turn     int // messages of the model before the answer
}

// prompt sends a prompt.
func (t *talk) prompt(text string, d delivery) {
	done, err := t.conn.call("session/prompt", t.said(text, nil))
	if err != nil {
		t.Env.Log.Debug("write prompt failed, the end of the program follows")
	}
	d.done = done
	t.end.open = append(t.end.open, d)
}

func (t *talk) said(text string, more map[string]any) map[string]any {
	params := map[string]any{"sessionId": t.place.SessionID, "prompt": []any{map[string]any{"type": "text", "text": text}}}
	maps.Copy(params, more)
	return params
}

// hear delivers a message to the current turn as the dialect allows it, else the message waits for the next turn.
func (t *talk) hear(m inbox.Message) {
	switch how := t.Dialect.Steer; {
	case m.Type == inbox.TypeInterrupt:
		t.end.stopping = append(t.end.stopping, m)
		t.stop("")
	case t.end.late != nil:
		t.Later = append(t.Later, m)
	case how == SteerInject && t.can.Meta.Steering.Supported:
		t.inject(m)
	case how == SteerFold:
		t.prompt(claude.Worded(m), delivery{messages: []inbox.Message{m}, by: SteerFold})
	case how == SteerPull:
		t.mu.Lock()
		t.queue = append(t.queue, m)
		t.mu.Unlock()
	default:
		t.Later = append(t.Later, m)
	}
}

// inject notes the message before it is sent: the model may answer it before the agent acknowledges it.
func (t *talk) inject(m inbox.Message) {
	t.rec.injected([]inbox.Message{m})
	done, err := t.conn.call("_session/steering", t.said(claude.Worded(m), map[string]any{
		"_meta": map[string]any{"steering": map[string]any{"idleBehavior": "promptRequired"}},
	}))
	if err != nil {
		t.rec.withdraw(m)
		t.Later = append(t.Later, m)
		return
	}
	t.end.open = append(t.end.open, delivery{messages: []inbox.Message{m}, by: SteerInject, done: done})
}

// answered takes the answer to an open request of the turn.
func (t *talk) answered(at int, f reply) {
	end := t.end
	d := end.open[at]
	d.turn = f.turn
	end.open = append(end.open[:at:at], end.open[at+1:]...)
	switch a, how := jsonrpc.Into[answer](f.Result), jsonrpc.Into[steered](f.Result); {
	case d.by == SteerInject && f.Error == nil && how.Outcome == "injected":
		t.rec.accepted(d.messages, d.turn, inTurn)
	case d.by == SteerInject && how.Outcome == bridge.Refused: // another turn could not deliver it either
		t.rec.withdraw(d.messages...)
		for _, m := range d.messages {
			t.Env.Drop(m, how.Reason)
		}
	case d.by == SteerInject, d.by == SteerFold && (f.Error != nil || a.Stop == "cancelled"): // no turn runs any more, or the agent refuses
		t.rec.withdraw(d.messages...)
		t.Later = append(t.Later, d.messages...)
	case d.by == SteerFold:
		end.result, end.folded = &a, append(end.folded, d)
	case f.Error != nil:
		end.refused, end.first = f.Error, d.turn
	default:
		end.result, end.first = &a, d.turn
	}
}

type steered struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"` // of a refusal
}

// unread keeps the messages of the turn that nothing proves to be read for the next turn.
func (t *talk) unread() {
	for _, d := range t.end.folded {
		how := inTurn
		if d.turn > t.end.first { // a turn of its own
			how = asPrompt
		}
		t.rec.accepted(d.messages, -1, how)
	}
	t.mu.Lock()
	left := slices.Concat(t.rec.unproven(), t.queue, t.reasons)
	t.queue, t.reasons = nil, nil
	t.mu.Unlock()
	for _, d := range t.end.open {
		if d.by != "" { // else the recorder has them
			left = append(left, d.messages...)
		}
	}
	t.end.open = nil
	t.rec.withdraw(left...)
	t.Later = append(left, t.Later...)
}

// take passes a notification on.
func (t *talk) take(f *jsonrpc.Frame) { t.rec.take(f) }

// asked answers a request of the agent.
func (t *talk) asked(f *jsonrpc.Frame, late bool) (result any, refused *jsonrpc.Error) {
	switch {
	case f.Method == "session/request_permission":
		return t.rec.permit(f), nil
	case f.Method == "craft/drainMidTurnQueue" && t.Dialect.Steer == SteerPull:
		if late { // qwen waits two seconds for the answer: a message would be lost
			return map[string]any{"messages": []string{}, "hasQueuedPrompt": false}, nil
		}
		return map[string]any{"messages": t.pull(), "hasQueuedPrompt": false}, nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethod, Message: "method not found"}
}

// pull returns the messages that wait for the turn. The next request to the model contains them.
func (t *talk) pull() []string {
	t.mu.Lock()
	waiting := t.queue
	t.queue = nil
	t.mu.Unlock()
	texts := []string{}
	for _, m := range waiting {
		texts = append(texts, claude.Worded(m))
	}
	t.rec.pulled(waiting)
	return texts
}

// injected notes that the next message of the model answers these.
func (r *recorder) injected(messages []inbox.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range messages {
		if m.ID != "" {
			r.asked = append(r.asked, m.ID)
		}
	}
}

// withdraw takes back what injected noted.
func (r *recorder) withdraw(messages ...inbox.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range messages {
		same := func(id string) bool { return id == m.ID }
		r.asked, r.answers = slices.DeleteFunc(r.asked, same), slices.DeleteFunc(r.answers, same)
	}
}

// pulled notes messages that the agent asked for between two messages of the model.
func (r *recorder) pulled(messages []inbox.Message) {
	r.injected(messages)
	r.accepted(messages, r.turns(), inTurn)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = r.begun && len(messages) == 0
}
