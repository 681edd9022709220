package claude

import (
	"cmp"
	"context"
	"log/slog"
	"os"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// Runtime is the runtime of Claude Code. The zero value is ready to use.
type Runtime struct{}

var _ agent.Runtime = Runtime{}

// Run works on the task with Claude Code until the work is complete, fails or is stopped.
func (Runtime) Run(ctx context.Context, env agent.Env) (agent.Result, error) {
	if env.Done {
		return agent.Result{}, nil
	}
	vars := agent.Variables(env.Environ)
	if vars[Bin] == "" {
		vars[Bin] = env.Config.Program
	}
	if err := cmp.Or(checkCredentials(vars), continuous.Check(vars), checkAsk(vars)); err != nil {
		return agent.Result{}, err
	}
	path, version, err := find(ctx, env, vars)
	if err != nil {
		return agent.Result{}, err
	}
	if err := os.MkdirAll(configDir(env), 0o700); err != nil {
		return agent.Result{}, agent.Failure(task.ClassInfrastructure, err)
	}
	place, unknown := openPlace(env)
	place.Spent.prices = pricesOf(vars)
	t := newTalk(env, vars, path, place)
	if unknown != nil {
		t.forgotten(unknown)
	}
	env.Log.InfoContext(ctx, "claude code found", slog.String("path", path), slog.String("version", version))
	t.rec = newRecorder(ctx, env, place)
	res, err := t.Run(ctx)
	t.halt()
	if ctx.Err() == nil {
		t.sayAgain()
	}
	t.TooLate(ctx)
	return res, err
}

func newTalk(env agent.Env, vars variables, path string, p *place) *talk {
	t := &talk{path: path, place: p}
	t.Driver = continuous.NewDriver(t, env, vars, &p.State)
	t.Prompted, t.Environ = true, withoutCredentials(env.Environ)
	return t
}

// forgotten reports that the previous attempt's session cannot be resumed.
func (t *talk) forgotten(why error) {
	t.Env.Report.Emit(event.AgentResumeFailed, map[string]any{"session_id": t.place.SessionID, "error": why.Error()})
}

// Turn runs a turn of the program, and a second one if the program does not know the session to resume.
func (t *talk) Turn(ctx context.Context, step continuous.Step) (*continuous.Turn, error) {
	for {
		text := step.Text
		switch {
		case step.FromMessage():
			text = Worded(step.Of)
		case text == "":
			text = FirstPrompt(t.Env, t.place.Begun)
		}
		if t.Env.Config.Continuous {
			t.place.TurnsBefore = t.rec.now().Turn
		}
		end, err := t.take(ctx, t.Prompt(text), step.Of)
		t.end = end
		if err != nil || !t.unresumed(end) {
			return &continuous.Turn{Said: end.said(), Stop: end.stop, Interrupted: end.interrupted}, err
		}
		step = continuous.Step{}
	}
}

// Reported returns nil: the program has no access to the API.
func (*talk) Reported(context.Context) (*agent.Result, error) { return nil, nil } //nolint:nilnil // no outcome was reported

// Once returns false: the program continues its session.
func (*talk) Once() bool { return false }

// unresumed returns true once if the program does not know the session to resume. The program then starts a new session
// with the existing work.
func (t *talk) unresumed(end *turn) bool {
	if !end.ended || !t.place.Begun || end.interrupted || t.rec.now().begun || end.exit.ExitCode == 0 {
		return false
	}
	t.forgotten(task.Errorf(task.CodeInvalid, "%s", t.words(end)))
	t.place.SessionID, t.place.Begun = newUUID(), false
	return true
}
