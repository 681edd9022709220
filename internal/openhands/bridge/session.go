package bridge

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// session is a conversation of the server.
type session struct {
	*openhands.Client

	id   string
	room time.Duration     // see [Config]
	sum  openhands.Metrics // of former turns
	last string            // ID of the newest event that was translated

	calling atomic.Bool // a tool runs, as far as the turn knows

	saying sync.Mutex // the server may run a conversation twice if two messages come at once

	mu       sync.Mutex
	stopped  chan struct{} // closed when the turn is cancelled; nil: no turn runs
	left     bool          // the server may run a turn that the bridge has left
	steering int           // messages to the turn that are on their way
}

// create creates a conversation. Its ID follows from that of the sandbox, so that a lost answer leaves no second one.
func (b *bridge) create(ctx context.Context, folder string) (any, error) {
	to, err := b.connect(ctx)
	if err != nil {
		return nil, err
	}
	id := task.NewID()
	if sandbox := b.Vars["SANDBOX_ID"]; sandbox != "" {
		id = openhands.ConversationID(sandbox)
	}
	if err := insist(ctx, b.Room, func() error { return to.Delete(ctx, id) }); err != nil { // one that cannot be continued
		return nil, err
	}
	if err := insist(ctx, b.Room, func() error { _, err := to.Create(ctx, id, folder, b.model()); return err }); err != nil {
		return nil, err
	}
	b.open(&session{Client: to, id: id, room: b.Room})
	return map[string]any{"sessionId": id}, nil
}

// insist repeats a call while the server has no room, or does not answer, for a limited time.
func insist(ctx context.Context, limit time.Duration, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := do()
		if code := task.CodeOf(err); code != task.CodeExhausted && code != task.CodeUnavailable {
			return err
		}
		if wait.For(ctx, time.Second) != nil {
			return err
		}
	}
}

// resume continues a conversation.
func (b *bridge) resume(ctx context.Context, id string) (any, error) {
	to, err := b.connect(ctx)
	if err != nil {
		return nil, err
	}
	var now openhands.Conversation
	if err := insist(ctx, b.Room, func() (err error) { now, err = to.Get(ctx, id); return err }); err != nil {
		return nil, err
	}
	var all []openhands.Event
	if err := insist(ctx, b.Room, func() (err error) { all, _, err = to.After(ctx, id, ""); return err }); err != nil {
		return nil, err
	}
	one := &session{Client: to, id: id, room: b.Room, sum: now.Used()}
	if len(all) > 0 {
		one.last = all[len(all)-1].ID
	}
	b.open(one)
	return map[string]any{"sessionId": id}, nil
}

func (b *bridge) open(one *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.one = one
}

// errNoSession is the error of a request without a session.
var errNoSession = &jsonrpc.Error{Code: jsonrpc.CodeParams, Message: "there is no session"}

// begin begins a turn.
func (s *session) begin() error {
	if s == nil {
		return errNoSession
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped != nil {
		return errors.New("a turn is running")
	}
	s.stopped, s.left = make(chan struct{}), true
	return nil
}

// end ends a turn. left reports that the server may still run it.
func (s *session) end(left bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped, s.left = nil, left
}

// running reports whether the server may run a turn.
func (s *session) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// cancel cancels the turn.
func (s *session) cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped == nil {
		return
	}
	select {
	case <-s.stopped:
	default:
		close(s.stopped)
	}
}
