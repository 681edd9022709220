package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/agent/hook"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/shellcmd"
	"github.com/omoi-dev/omoi/internal/task"
)

// openHook prepares the hook that refuses tool calls, and returns its shell command; empty: calls are not checked. The function
// done reports the last refusals.
func (s *session) openHook(ctx context.Context) (command string, done func()) {
	if s.deps.Program == "" {
		return "", func() {}
	}
	if err := hook.Open(s.cfg.Dir, s.limits()); err != nil {
		s.deps.Log.WarnContext(ctx, "open hook failed, not checking tool calls", slog.Any("error", err))
		s.report.Emit(event.AgentToolUnchecked, map[string]any{"error": err.Error()})
		return "", func() {}
	}
	forwarding, stop := context.WithCancel(context.WithoutCancel(ctx)) // the runtime may call tools in the grace time
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		hook.Forward(forwarding, s.cfg.Dir, s.report.Emit)
	}()
	return hookLine(s.deps.Program, s.cfg.Dir), func() { stop(); <-ended }
}

// hookLine returns the shell command of the hook. A crash of a Go program has exit code 2, which would refuse the call, so it
// ends by a signal instead.
func hookLine(program, dir string) string {
	return "ulimit -c 0; export GOTRACEBACK=crash; exec " + shellcmd.Line(program, "hook", "--dir", dir)
}

func (s *session) limits() hook.Limits {
	l := hook.Limits{
		Workspace: filepath.Clean(s.cfg.Workspace), Home: cmp.Or(s.cfg.Env["HOME"], home(s.cfg)), Validates: s.cfg.Validation != nil || s.cfg.Mode == task.ModeValidation,
		Messages: !s.deaf(),
	}
	_ = json.Unmarshal(s.cfg.Accepted, &l.Contract) // of another form: nothing is known
	if s.cfg.Repo != nil {
		l.Branch, l.Base = s.cfg.Repo.Branch, s.cfg.Repo.Base
	}
	return l
}

// allow lets the call of a refusal run once.
func (s *session) allow(refusal string) {
	if err := hook.Allow(s.cfg.Dir, refusal); err != nil {
		s.deps.Log.Warn("allow tool call failed", slog.Any("error", err))
	}
}
