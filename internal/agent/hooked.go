package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
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
	limits, err := s.limits()
	if s.deps.Program == "" || !task.RuntimeOf(s.cfg.Runtime).Hooked {
		s.unasked(limits)
		return "", func() {}
	}
	if err != nil {
		s.unchecked(ctx, err)
	}
	if err := hook.Open(s.cfg.Dir, limits); err != nil {
		s.unchecked(ctx, err)
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

// unasked reports that the agent asks nobody before its tool calls, where the task contract would refuse some.
func (s *session) unasked(l hook.Limits) {
	if r := task.RuntimeOf(s.cfg.Runtime); r.ACP && !r.Hooked && l.Contract.Refuses() {
		s.report.Emit(event.AgentToolUnchecked, map[string]any{
			"error": r.Name + " does not ask before its tool calls, so the task contract refuses none: the guardian compares the work with it afterwards.",
		})
	}
}

// unchecked reports that tool calls are not checked, or not against the task contract.
func (s *session) unchecked(ctx context.Context, err error) {
	s.deps.Log.WarnContext(ctx, "prepare hook failed, not checking all tool calls", slog.Any("error", err))
	s.report.Emit(event.AgentToolUnchecked, map[string]any{"error": err.Error()})
}

// hookLine returns the shell command of the hook. A crash of a Go program has exit code 2, which would refuse the call, so it
// ends by a signal instead.
func hookLine(program, dir string) string {
	return "ulimit -c 0; export GOTRACEBACK=crash; exec " + shellcmd.Line(program, "hook", "--dir", dir)
}

// limits returns the limits of this attempt. An error means that the task contract is unknown.
func (s *session) limits() (hook.Limits, error) {
	l := hook.Limits{
		Workspace: filepath.Clean(s.cfg.Workspace), Home: cmp.Or(s.cfg.Env["HOME"], home(s.cfg)), Validates: s.cfg.Validates(),
		Messages: !s.deaf(),
	}
	if s.cfg.Repo != nil {
		l.Branch, l.Base = s.cfg.Repo.Branch, s.cfg.Repo.Base
	}
	if len(s.cfg.Accepted) == 0 {
		return l, nil
	}
	if err := json.Unmarshal(s.cfg.Accepted, &l.Contract); err != nil {
		return l, fmt.Errorf("read the task contract: %w", err)
	}
	return l, nil
}

// allow lets the call of a refusal run once.
func (s *session) allow(refusal string) {
	if err := hook.Allow(s.cfg.Dir, refusal); err != nil {
		s.deps.Log.Warn("allow tool call failed", slog.Any("error", err))
	}
}
