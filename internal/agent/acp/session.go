package acp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/openhands/bridge"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// ensure starts the program and opens a session, if none is open.
func (t *talk) ensure(ctx context.Context) error {
	if t.conn != nil && !t.conn.over() {
		return nil
	}
	t.unfollow()
	args, environ, err := t.start()
	if err != nil {
		return agent.Failure(task.ClassInfrastructure, err)
	}
	t.rec.begin()
	conn, err := dial(ctx, t.Env, proc.Command{
		Args: args, Dir: t.Env.Config.Workspace, Env: agent.Environ(environ), Grace: min(t.Env.Config.Grace/4, 2*time.Second),
	}, t)
	if err != nil {
		return agent.Failure(task.ClassInfrastructure, err)
	}
	t.conn = conn
	if err := t.open(ctx); err != nil {
		t.halt()
		return err
	}
	t.follow(ctx)
	t.keep()
	t.Save()
	return nil
}

// open greets the agent, and continues the session or creates one.
func (t *talk) open(ctx context.Context) error {
	raw, err := t.conn.ask(ctx, "initialize", map[string]any{
		"protocolVersion": 1, "clientInfo": map[string]any{"name": "omoi", "version": "1"},
		"clientCapabilities": map[string]any{
			"fs": map[string]any{"readTextFile": false, "writeTextFile": false}, "terminal": false,
			"_meta": map[string]any{"jetbrains": map[string]any{"air": map[string]any{"version": 1, "capabilities": []string{"sessionFailure"}}}},
		},
	}, t.Patience)
	if err != nil {
		return t.unopened(err)
	}
	if t.can = jsonrpc.Into[greeting](raw); t.can.Version != 1 {
		return task.Invalid("agent", "Cannot start %s: it speaks version %d of the Agent Client Protocol instead of 1. Next: %s", t.Dialect.Title, t.can.Version, t.Dialect.Install)
	}
	if err := t.Dialect.CheckVersion(t.can.Agent.Version); err != nil {
		return err
	}
	t.Env.Log.InfoContext(ctx, "agent started", slog.String("agent", t.Dialect.Name), slog.String("version", t.can.Agent.Version))
	var to opened
	if t.place.SessionID != "" {
		to, err = t.resume(ctx)
	} else {
		to, err = t.create(ctx)
	}
	if err != nil {
		return err
	}
	return t.setMode(ctx, to)
}

func (t *talk) session(more map[string]any) map[string]any {
	params := map[string]any{"cwd": t.Env.Config.Workspace, "mcpServers": []any{}}
	maps.Copy(params, more)
	return params
}

func (t *talk) create(ctx context.Context) (to opened, err error) {
	raw, err := t.conn.ask(ctx, "session/new", t.session(nil), t.Patience)
	if err != nil {
		return to, t.unopened(err)
	}
	if to = jsonrpc.Into[opened](raw); to.SessionID == "" {
		return to, t.unopened(errors.New("it named no session"))
	}
	t.fresh = true
	t.rec.created(to.SessionID)
	return to, nil
}

// resume continues the session. If the agent cannot, it gets a new session with a summary of the old one.
func (t *talk) resume(ctx context.Context) (opened, error) {
	id := t.place.SessionID
	raw, err := t.continued(ctx, id)
	if err == nil {
		t.fresh = false
		return jsonrpc.Into[opened](raw), nil
	}
	if ctx.Err() != nil {
		return opened{}, ctx.Err()
	}
	if !t.Dialect.forgot(err) {
		return opened{}, t.unopened(err)
	}
	t.forgotten(id, err)
	t.rec.load(false)
	t.rec.lost(t.transcript())
	return t.create(ctx)
}

var errCannot = errors.New("the agent cannot continue a session")

// forgot reports that the agent will not continue a session, which makes room for a new one. omoi's own bridge says exactly when.
func (d Dialect) forgot(err error) bool {
	refused, ok := errors.AsType[*jsonrpc.Error](err)
	switch {
	case errors.Is(err, errCannot):
		return true
	case !ok:
		return false
	case d.Command != nil:
		return refused.Code == jsonrpc.CodeNotFound
	}
	return refused.Code != codeNoLogin
}

// continued asks for a session, preferably without a replay of it.
func (t *talk) continued(ctx context.Context, id string) (raw []byte, err error) {
	params := t.session(map[string]any{"sessionId": id})
	if len(t.can.Can.Session.Resume) > 0 {
		return t.conn.ask(ctx, "session/resume", params, t.Patience)
	}
	if !t.can.Can.Load {
		return nil, errCannot
	}
	if t.Dialect.NextMinute { // a load in the same minute would overwrite the session
		if err := wait.For(ctx, time.Until(t.place.Created.Truncate(t.Minute).Add(t.Minute))); err != nil {
			return nil, err
		}
	}
	t.rec.load(true)
	return t.conn.ask(ctx, "session/load", params, t.Patience)
}

// setMode sets the mode of the session and reads it back, since in some modes another model judges each command.
func (t *talk) setMode(ctx context.Context, to opened) error {
	want := t.Dialect.Mode
	if want == "" {
		return nil
	}
	if all := to.Modes.All; len(all) > 0 && !slices.Contains(all, mode{want}) {
		return t.unopened(fmt.Errorf("it has no mode %s", want))
	}
	t.rec.opened(to.Modes)
	if _, err := t.conn.ask(ctx, "session/set_mode", map[string]any{"sessionId": t.place.SessionID, "modeId": want}, t.Patience); err != nil {
		return t.unopened(err)
	}
	if now := t.rec.now().mode; now != want {
		return t.unopened(fmt.Errorf("its mode is %q instead of %s", now, want))
	}
	return nil
}

// unopened returns the error of an agent that cannot begin to work, with its failure class.
func (t *talk) unopened(err error) error {
	refused, answered := errors.AsType[*jsonrpc.Error](err)
	switch {
	case answered && refused.Code == codeNoLogin:
		kind := t.Dialect.credential()
		return agent.Failure(task.ClassCredentials, task.Errorf(task.CodeUnauthorized,
			"%s has no valid login: %s. Next: omoi credentials set %s; see docs/CODING-AGENTS.md", t.Dialect.Title, strings.TrimSuffix(refused.Message, "."), kind).WithReason(task.NoCredential(kind)))
	case answered && jsonrpc.Into[detail](refused.Data).Kind == bridge.Full:
		return agent.Failure(task.ClassProviderLimit, task.Errorf(task.CodeExhausted, "Cannot open a session of %s: %s", t.Dialect.Title, refused.Message).
			WithReason(task.Reason{Code: task.ReasonServerFull}))
	case answered && refused.Code == jsonrpc.CodeParams && t.Dialect.Command != nil: // omoi's own bridge says what is wrong
		return task.Invalid("agent", "Cannot start %s: %s", t.Dialect.Title, refused.Message)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, errEnded):
		<-t.conn.Drained
		if t.conn.Err != nil {
			return task.Invalid("agent", "Cannot start %s: %s.", t.Dialect.Title, t.conn.Err)
		}
		f := t.died(t.conn.Result)
		return agent.Failure(f.Class, errors.New(f.Text))
	}
	return agent.Failure(task.ClassInfrastructure, fmt.Errorf("open a session of %s: %s", t.Dialect.Title, textcut.First(err.Error(), resultBytes)))
}

// transcript returns the file that tells what the session was about.
func (t *talk) transcript() string {
	if path := sessionFile(t.Dialect, t.where, t.place.SessionID); path != "" {
		return path
	}
	if t.Env.Resume != nil && t.Env.Resume.SessionID == t.place.SessionID {
		return t.Env.Resume.Path
	}
	return ownLog(t.Env)
}

// keep names the transcript of the session: the agent's own file, if another sandbox can use it, else omoi's.
func (t *talk) keep() {
	path := sessionFile(t.Dialect, t.where, t.place.SessionID)
	if path == "" {
		path = ownLog(t.Env)
	}
	t.Env.Keep(path, t.place.SessionID)
}

// keepEvery is the interval at which omoi looks for the file of a new session.
const keepEvery = 100 * time.Millisecond

// keepSoon keeps the session as soon as its file exists: most agents begin it in their first turn. The returned function
// ends that.
func (t *talk) keepSoon(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		none := t.Dialect.Session != nil && sessionFile(t.Dialect, t.where, t.place.SessionID) == ""
		for ; none && wait.For(ctx, keepEvery) == nil; none = sessionFile(t.Dialect, t.where, t.place.SessionID) == "" {
		}
		if ctx.Err() == nil {
			t.keep()
		}
	}()
	return func() { cancel(); <-over }
}

// created notes a new session.
func (r *recorder) created(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place.SessionID, r.place.Created = id, time.Now()
}

// lost notes that the session cannot be continued.
func (r *recorder) lost(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place.lose(path)
}

// iteration begins to count the messages of an iteration.
func (r *recorder) iteration() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place.Before = r.place.Turn
}
