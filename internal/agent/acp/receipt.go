package acp

import (
	"slices"

	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/event"
)

// given is a message that the agent has taken. Only the next message of the model proves that the model has it.
type given struct {
	inbox.Message

	turn int    // messages of the model before
	how  string // how it reached the agent
}

// turns returns the number of messages of the model so far.
func (r *recorder) turns() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.place.Turn
}

func (t *talk) turns() int { return t.rec.turns() }

// accepted notes that the agent has taken messages after so many messages of the model.
func (r *recorder) accepted(messages []inbox.Message, turn int, how string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range messages {
		if m.ID != "" {
			r.given = append(r.given, given{m, turn, how})
		}
	}
	r.prove()
}

// prove acknowledges the messages that the model has.
func (r *recorder) prove() {
	r.given = slices.DeleteFunc(r.given, func(g given) bool {
		if g.turn >= r.place.Turn {
			return false
		}
		r.env.Inbox.Used(g.ID)
		r.emit(event.AgentSystemMessage, map[string]any{"subtype": "message", "line_type": "omoi_message", "metadata": map[string]any{"message_id": g.ID, "delivered": g.how}})
		return true
	})
}

// unproven returns the messages of the turn of which nothing shows that the model has them.
func (r *recorder) unproven() (left []inbox.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.given {
		left = append(left, g.Message)
	}
	r.given = nil
	return left
}
