package acp

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// Runtime runs an agent that speaks the protocol.
type Runtime struct {
	Dialect Dialect
	// Silence is the time after which an agent that neither says anything nor runs a tool is stopped; zero: 10 min.
	Silence time.Duration
	// Patience is the time for an answer that needs no model; zero: 2 min.
	Patience time.Duration
	// CancelWait is the time for a cancelled turn to end, after which the program is killed; zero: 5 s.
	CancelWait time.Duration
	// Minute is the unit of the time in which some agents name sessions; zero: a minute.
	Minute time.Duration
}

var _ agent.Runtime = Runtime{}

// Defaults of [Runtime].
const (
	defaultSilence  = 10 * time.Minute
	defaultPatience = 2 * time.Minute
	cancelWait      = 5 * time.Second
)

// Run works on the task until the work is complete, fails or is stopped.
func (a Runtime) Run(ctx context.Context, env agent.Env) (agent.Result, error) {
	if env.Done {
		return agent.Result{}, nil
	}
	t, err := a.open(ctx, env)
	if err != nil {
		return agent.Result{}, err
	}
	defer t.rec.log.Close()
	res, err := t.Driver.Run(ctx)
	t.halt()
	t.unfollow()
	t.Later = slices.DeleteFunc(t.Later, func(m inbox.Message) bool { return m.ID == "" }) // omoi's own
	t.TooLate(ctx)
	return res, err
}

// open returns the conversation with the agent, before its program starts.
func (a Runtime) open(ctx context.Context, env agent.Env) (*talk, error) {
	vars := agent.Variables(env.Environ)
	t := &talk{Runtime: a, where: placeOf(env, vars), mu: &sync.Mutex{}, unfollow: func() {}}
	t.Minute, t.CancelWait = cmp.Or(max(a.Minute, 0), time.Minute), cmp.Or(max(a.CancelWait, 0), cancelWait)
	t.Silence, t.Patience = cmp.Or(max(a.Silence, 0), defaultSilence), cmp.Or(max(a.Patience, 0), a.Dialect.Patience, defaultPatience)
	if err := t.prepare(env, vars); err != nil {
		return nil, err
	}
	place, unknown := openPlace(env, a.Dialect, t.where, func(path string) error { return t.takes(ctx, env, path) })
	t.Driver = continuous.NewDriver(t, env, vars, &place.State)
	t.Prompted, t.Environ, t.place = true, t.withoutKeys(env.Environ), place
	t.rec = newRecorder(ctx, env, a.Dialect, place, t.Limits)
	if env.Hook != "" {
		t.rec.refuses = t.refuses
	}
	if unknown != nil {
		t.forgotten(env.Resume.SessionID, unknown)
	}
	return t, nil
}

// prepare finds the program and its environment, and writes the files that it needs.
func (t *talk) prepare(env agent.Env, vars Vars) (err error) {
	if err := continuous.Check(vars); err != nil {
		return err
	}
	if t.environ, err = t.Dialect.Environ(t.where, vars); err != nil {
		return err
	}
	if t.path, err = t.Dialect.find(env, vars); err != nil || t.Dialect.Files == nil {
		return err
	}
	for path, text := range t.Dialect.Files(t.where) {
		if err := writeNew(path, text); err != nil {
			return agent.Failure(task.ClassInfrastructure, err)
		}
	}
	return nil
}

// writeNew writes a file that does not exist.
func writeNew(path, text string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// ownLog returns the path of omoi's own transcript of a run.
func ownLog(env agent.Env) string { return filepath.Join(env.Config.Dir, "transcript.jsonl") }

// forgotten reports that an earlier session cannot be continued.
func (t *talk) forgotten(id string, why error) {
	t.Env.Report.Emit(event.AgentResumeFailed, map[string]any{"session_id": id, "error": why.Error()})
}

// talk is the conversation with the agent, across all its processes.
type talk struct {
	*continuous.Driver
	Runtime

	where   Place
	path    string
	environ Vars
	place   *place
	rec     *recorder
	conn    *conn
	can     greeting
	fresh   bool // the session has not been prompted

	teller   Teller
	unfollow func() // waits until the changes of the session of an ended program are in its file

	end *turn

	mu      *sync.Mutex
	queue   []inbox.Message // messages that the agent may pull
	told    int             // number of refused calls
	reasons []inbox.Message // of refusals in this turn
}

// withoutKeys returns an environment for commands that need no credential of a model.
func (t *talk) withoutKeys(environ []string) []string {
	vars := agent.Variables(environ)
	for name := range vars {
		if keyForm.MatchString(name) {
			delete(vars, name)
		}
	}
	return agent.Environ(vars)
}

// Turn runs a turn of the agent.
func (t *talk) Turn(ctx context.Context, step continuous.Step) (*continuous.Turn, error) {
	t.end = &turn{}
	if t.end.stop = t.reached(); t.end.stop != "" {
		t.Later = t.waiting(step)
		return &continuous.Turn{Stop: t.end.stop}, nil
	}
	if err := t.ensure(ctx); err != nil {
		t.Later = t.waiting(step) // no message is lost
		return nil, err
	}
	if t.Env.Config.Continuous {
		t.rec.iteration()
	}
	of := t.waiting(step)
	err := t.converse(ctx, t.Prompt(t.words(step.Text, of)), of)
	return &continuous.Turn{Said: t.end.said, Stop: t.end.limit(), Interrupted: t.end.interrupted}, err
}

// Reported returns nil: the agent has no access to the API.
func (*talk) Reported(context.Context) (*agent.Result, error) { return nil, nil } //nolint:nilnil // no outcome was reported

// Once returns false: the agent continues its session.
func (*talk) Once() bool { return false }

// Save writes the state and counts the working time until now.
func (t *talk) Save() {
	if err := t.rec.save(); err != nil {
		t.Env.Log.Warn("save agent state failed, a restart continues from an older one", slog.Any("error", err))
	}
}
