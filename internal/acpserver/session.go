package acpserver

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/wait"
)

// session is a conversation of the editor. Its fields belong to the newest turn; see [session.begin].
type session struct {
	*server
	kept

	id      string
	api     *client.Client
	newest  *turn     // of the reader
	held    *os.File  // lock of the session; see [session.hold]
	unsent  []prompt  // prompts that no agent has yet
	pending []message // messages to agents, until they are answered
	reader
}

// prompt is a text of the user with its idempotency key.
type prompt struct {
	Text    string `json:"text"`
	Key     string `json:"key"`
	resumed bool   // the suspended task was retried for this prompt
}

// message is a prompt that was sent to a running agent.
type message struct {
	prompt

	id string
}

func (s *server) session(id string, k kept) *session {
	one := &session{server: s, kept: k, id: id}
	one.of = one
	one.restart()
	s.sessions[id] = one
	return one
}

// task is the newest task of the session; empty: none.
func (s *session) task() string {
	if len(s.Tasks) == 0 {
		return ""
	}
	return s.Tasks[len(s.Tasks)-1]
}

// turn is a request of the editor that follows the session.
type turn struct {
	ctx       context.Context    //nolint:containedctx // a turn is a context with more
	stop      context.CancelFunc // a newer turn takes over
	untouched context.Context    //nolint:containedctx // ends when the user cancels the turn
	cancel    context.CancelCauseFunc
	over      chan struct{}
	sending   context.Context //nolint:containedctx // of deliveries, which may finish after untouched has ended
	server    context.Context //nolint:containedctx // ends with the connection to the editor
}

// begin starts a turn. The turn before ends first: two would report the same events.
func (s *session) begin(ctx context.Context, do func(*turn)) {
	before := s.newest
	t := &turn{over: make(chan struct{}), server: ctx}
	t.ctx, t.stop = context.WithCancel(ctx)
	t.untouched, t.cancel = context.WithCancelCause(t.ctx)
	sending, done := wait.Outlast(t.untouched, cancelLimit)
	t.sending = sending
	s.newest = t
	s.work.Go(func() {
		defer done()
		defer t.stop()
		defer close(t.over)
		if before != nil {
			before.stop()
			<-before.over
		}
		do(t)
	})
}

// cancelLimit is how long a cancelled turn waits until its requests have ended and the agent has stopped.
const cancelLimit = 15 * time.Second

// cancel stops the agent, as far as there is a turn.
func (s *session) cancel() {
	if t := s.newest; t != nil {
		t.cancel(errCancelled)
	}
}

var errCancelled = errors.New("cancelled by the user")

// cancelled reports whether the user cancelled the turn, perhaps before a newer one took over.
func (t *turn) cancelled() bool { return errors.Is(context.Cause(t.untouched), errCancelled) }

// connect opens the connection to omoi, whose address may have changed since the turn before.
func (s *session) connect() error {
	api, err := s.API()
	if err == nil {
		s.api = api
	}
	return err
}

// endTurn releases the session, unless a newer turn of this process continues with it.
func (s *session) endTurn(t *turn) {
	if t.ctx.Err() == nil || t.server.Err() != nil {
		s.release()
	}
}

// load reports all that happened, answers, and follows the task if it is open.
func (s *session) load(t *turn, answer func(error)) {
	defer s.endTurn(t)
	err, open := s.connect(), false
	held := s.hold() == nil // else another process gives its open prompt
	if err == nil {
		open, err = s.replay(t.ctx)
	}
	if held && s.Open != nil && len(s.unsent) == 0 {
		s.unsent = []prompt{*s.Open}
	}
	if err != nil {
		s.restart() // the reader may be in the middle of another task
	}
	if len(s.unsent) == 0 && len(s.pending) == 0 {
		s.release() // this turn only reads
	}
	if answer(err); err != nil || !open || s.task() == "" && s.held == nil {
		return
	}
	if _, err := s.follow(t); err != nil && t.ctx.Err() == nil {
		s.Note("omoi acp: follow session %s failed: %v", s.id, err)
	}
}

// prompt gives a text to the agent and follows the task until it ends or waits for the user.
func (s *session) prompt(t *turn, text string) (stop string, err error) {
	defer s.endTurn(t)
	if err := s.connect(); err != nil {
		return "", err
	}
	if err := s.hold(); err != nil {
		return "", err
	}
	s.unsent = append(s.unsent, prompt{Text: text, Key: s.key(text)})
	s.last = ""
	stop, err = s.follow(t)
	switch {
	case err == nil:
		return stop, nil
	case t.ctx.Err() != nil && t.server.Err() == nil: // the next prompt follows the task
		return stopEnd, nil
	}
	s.unsent = nil
	return "", err
}
