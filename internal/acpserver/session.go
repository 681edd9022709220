package acpserver

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/wait"
)

// kept is what the file of a session holds, so that another process can load it.
type kept struct {
	Cwd     string   `json:"cwd"`
	Tasks   []string `json:"tasks"`   // the last one is open, or ended last
	Prompts int      `json:"prompts"` // prompts that reached a task
	Open    *prompt  `json:"open"`    // prompt for which the server may have created the first task
}

// session is a conversation of the editor. Its fields belong to the newest turn; see [session.begin].
type session struct {
	*server
	kept

	id      string
	api     *client.Client
	newest  *turn     // of the reader
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

// sessionID matches IDs of sessions and tasks, and keys of tasks. It keeps names of files within the folder.
var sessionID = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// known returns a session of this process, of an earlier one, or of a task.
func (s *server) known(p params) (*session, error) {
	if one := s.sessions[p.SessionID]; one != nil {
		return one, nil
	}
	if !sessionID.MatchString(p.SessionID) {
		return nil, errNoSession
	}
	k := kept{Tasks: []string{p.SessionID}}
	statefile.Load(s.file(p.SessionID), &k)
	k.Cwd = cmp.Or(p.Folder, k.Cwd)
	return s.session(p.SessionID, k), nil
}

func (s *server) file(id string) string { return filepath.Join(s.Folder, id+".json") }

func (s *session) save() error {
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return err
	}
	return statefile.Save(s.file(s.id), s.kept)
}

// keep saves a session after a request that has reached the server, so that a failure does not end the turn.
func (s *session) keep() {
	if err := s.save(); err != nil {
		s.Note("omoi acp: save session %s failed: %v", s.id, err)
	}
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

// load reports all that happened, answers, and follows the task if it is open.
func (s *session) load(t *turn, answer func(error)) {
	err, open := s.connect(), false
	if err == nil {
		open, err = s.replay(t.ctx)
	}
	if s.Open != nil && len(s.unsent) == 0 {
		s.unsent = []prompt{*s.Open}
	}
	if err != nil {
		s.restart() // the reader may be in the middle of another task
	}
	if answer(err); err != nil || !open {
		return
	}
	if _, err := s.follow(t); err != nil && t.ctx.Err() == nil {
		s.Note("omoi acp: follow session %s failed: %v", s.id, err)
	}
}

// prompt gives a text to the agent and follows the task until it ends or waits for the user.
func (s *session) prompt(t *turn, text string) (stop string, err error) {
	if err := s.connect(); err != nil {
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
