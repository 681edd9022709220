package claude

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/uptime"
)

// Runtime is Claude Code as the agent. The zero value is ready.
type Runtime struct{}

var _ agent.Runtime = Runtime{}

// Run works on the task with Claude Code until it is done, fails or is stopped.
func (Runtime) Run(ctx context.Context, env agent.Env) (agent.Result, error) {
	if env.Done {
		return agent.Result{}, nil
	}
	vars := variablesOf(env.Environ)
	if vars[Bin] == "" {
		vars[Bin] = env.Config.ClaudeBin
	}
	if err := cmp.Or(checkCredentials(vars), continuous.Check(vars)); err != nil {
		return agent.Result{}, err
	}
	path, version, err := find(ctx, env, vars)
	if err != nil {
		return agent.Result{}, err
	}
	if err := os.MkdirAll(configDir(env), 0o700); err != nil {
		return agent.Result{}, agent.Failure(task.ClassInfrastructure, err)
	}
	t := &talk{env: env, vars: vars, path: path, began: uptime.Now()}
	if t.place, err = openPlace(env); err != nil {
		t.forgotten(err)
	}
	env.Log.InfoContext(ctx, "claude code", slog.String("path", path), slog.String("version", version))
	t.place.Spent.prices = pricesOf(vars)
	t.limits = limitsOf(env, vars, t.place)
	t.rec = newRecorder(ctx, env, t.place)
	t.receiver = agent.Listen(ctx, env.Inbox)
	res, err := t.work(ctx)
	t.halt()
	t.tooLate(ctx)
	return res, err
}

// forgotten says that the session of the attempt before cannot be gone on with.
func (t *talk) forgotten(why error) {
	t.env.Report.Emit(event.AgentResumeFailed, map[string]any{"session_id": t.place.SessionID, "error": why.Error()})
}

// step is what the program is told next, and the message that it comes from, if it does.
type step struct {
	text string
	of   inbox.Message
}

func stepOf(m inbox.Message) *step { return &step{text: worded(m), of: m} }

// work takes turn after turn until the task has an outcome.
func (t *talk) work(ctx context.Context) (agent.Result, error) {
	next := &step{text: firstPrompt(t.env, t.place)}
	for {
		end, err := t.take(ctx, t.round(next.text), next.of)
		if err != nil {
			return agent.Result{}, err
		}
		if t.unresumed(end) {
			next = &step{text: firstPrompt(t.env, t.place)}
			continue
		}
		var res agent.Result
		if next, res, err = t.after(ctx, end); err != nil || next == nil {
			return res, err
		}
	}
}

// unresumed is true once, if the program does not know the session that it was to go on with:
// it begins a new one, and the work itself is still there.
func (t *talk) unresumed(end *turn) bool {
	if !end.ended || !t.place.Begun || end.interrupted || t.rec.now().begun || end.exit.ExitCode == 0 {
		return false
	}
	t.forgotten(task.Errorf(task.CodeInvalid, "%s", t.words(end)))
	t.place.SessionID, t.place.Begun = newUUID(), false
	return true
}

// after decides what follows a turn: another one, or the end.
func (t *talk) after(ctx context.Context, end *turn) (*step, agent.Result, error) {
	if end.interrupted {
		return t.stand(ctx)
	}
	if t.env.Config.Continuous {
		return t.judgeRound(ctx, end)
	}
	if f := t.failure(end); f != nil {
		return nil, t.fail(f), nil
	}
	if next, err := t.verdict(ctx, end); next != nil || err != nil {
		return next, agent.Result{}, err
	}
	if next, err := t.linger(ctx, t.env.Patience()); next != nil || err != nil {
		return next, agent.Result{}, err
	}
	next, f, err := t.conclude(ctx, end)
	switch {
	case next != nil || err != nil:
		return next, agent.Result{}, err
	case end.interrupted:
		return t.stand(ctx)
	case f != nil:
		return nil, t.fail(f), nil
	}
	w := continuous.Look(ctx, t.env, continuous.AsksOf(t.vars))
	if err := ctx.Err(); err != nil { // nobody knows what could not be looked at
		return nil, agent.Result{}, err
	}
	if text := w.Undone(t.env, t.vars); text != "" {
		return nil, t.fail(&failed{class: task.ClassAgentError, kind: "nothing_done", reason: "nothing_done", text: text}), nil
	}
	t.completed(end, w)
	return nil, agent.Result{}, nil
}

// stand waits after an interrupt for a word on how to go on.
func (t *talk) stand(ctx context.Context) (*step, agent.Result, error) {
	m, ok, err := t.await(ctx, t.env.Patience())
	if !ok {
		return nil, t.abandoned(err), err
	}
	return stepOf(m), agent.Result{}, nil
}

// linger waits for more words before an agent that is done says so, where the task asks for it.
func (t *talk) linger(ctx context.Context, patience time.Duration) (*step, error) {
	if !t.env.Config.WaitForMessages {
		return nil, nil //nolint:nilnil // nobody is waited for
	}
	m, ok, err := t.await(ctx, patience)
	if !ok || err != nil {
		return nil, err
	}
	return stepOf(m), nil
}

// conclude lets the program end while somebody still listens: what is said meanwhile is the next
// step, for which it is started again. Afterwards nobody listens.
func (t *talk) conclude(ctx context.Context, end *turn) (*step, *failed, error) {
	if m, ok := t.lastWord(ctx); ok {
		return stepOf(m), nil, nil // the program is still there to hear it
	}
	t.receiver = agent.Listen(ctx, t.env.Inbox)
	f := t.close(ctx, end)
	if err := ctx.Err(); err != nil || end.interrupted {
		return nil, nil, err
	}
	if m, ok := t.lastWord(ctx); ok {
		return stepOf(m), nil, nil
	}
	return nil, f, nil
}

// lastWord is a message that came in the last moment before the end. Afterwards nobody listens.
func (t *talk) lastWord(ctx context.Context) (inbox.Message, bool) {
	left := slices.Concat(t.later, t.receiver.Close())
	t.later = nil
	for i, m := range left {
		if m.Type != inbox.TypeInterrupt {
			t.receiver, t.later = agent.Listen(ctx, t.env.Inbox), left[i+1:]
			return m, true
		}
		t.env.Interrupted(m) // there is nothing left to stop
	}
	return inbox.Message{}, false
}
