package acp

import (
	"maps"
	"slices"

	"github.com/omoi-dev/omoi/internal/agent/claude"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

// delivery is a request with a text, and the messages that the text comes from, if any.
type delivery struct {
	messages []inbox.Message
	steers   bool   // a message to the running turn, as opposed to a prompt
	how      string // how the messages reach the agent
	done     <-chan *jsonrpc.Frame
}

// prompt sends a prompt.
func (t *talk) prompt(text string, of []inbox.Message, how string) {
	done, err := t.conn.call("session/prompt", t.said(text, nil))
	if err != nil {
		t.Env.Log.Debug("write prompt failed, the end of the program follows")
	}
	t.end.open = append(t.end.open, delivery{messages: of, how: how, done: done})
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
		t.prompt(claude.Worded(m), []inbox.Message{m}, "in the turn")
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
	t.end.open = append(t.end.open, delivery{messages: []inbox.Message{m}, steers: true, how: "in the turn", done: done})
}

// answered takes the answer to an open request of the turn.
func (t *talk) answered(at int, f *jsonrpc.Frame) {
	end := t.end
	d := end.open[at]
	end.open = append(end.open[:at:at], end.open[at+1:]...)
	switch {
	case d.steers && (f.Error != nil || jsonrpc.Into[steered](f.Result).Outcome != "injected"):
		t.rec.withdraw(d.messages...)
		t.Later = append(t.Later, d.messages...) // no turn runs any more, or the agent refuses
		return
	case d.steers:
	case f.Error != nil:
		end.refused = f.Error
	default:
		a := jsonrpc.Into[answer](f.Result)
		end.result = &a
	}
	t.used(d.messages, d.how)
}

type steered struct {
	Outcome string `json:"outcome"`
}

// used notes that the agent has messages, and how it got them.
func (t *talk) used(messages []inbox.Message, how string) {
	for _, m := range messages {
		if m.ID != "" {
			t.Env.Inbox.Used(m.ID)
			t.rec.delivered(m.ID, how)
		}
	}
}

// unread keeps the messages of the turn that nothing proves to be read for the next turn.
func (t *talk) unread() {
	t.mu.Lock()
	left := t.queue
	t.queue = nil
	t.mu.Unlock()
	now := t.rec.now()
	for at, d := range t.end.open {
		if at == 0 && !d.steers && now.texts+now.calls > 0 {
			t.used(d.messages, d.how) // it has begun to answer
			continue
		}
		left = append(left, d.messages...)
	}
	t.end.open = nil
	t.rec.withdraw(left...)
	left = slices.DeleteFunc(left, func(m inbox.Message) bool { return m.ID == "" })
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
	t.rec.injected(waiting)
	t.used(waiting, "in the turn")
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

// delivered reports how a message reached the agent.
func (r *recorder) delivered(id, how string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.emit(event.AgentSystemMessage, map[string]any{"subtype": "message", "line_type": "omoi_message", "metadata": map[string]any{"message_id": id, "delivered": how}})
}
