// Package command runs a given program as the agent: an unchanged worker of the replaced
// system, or anything that posts its own events. It gets the environment contract, and its
// exit code is the outcome where it has not reported one itself.
package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/link"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/spec"
	"github.com/omoi-dev/omoi/internal/task"
)

// Runtime runs [spec.Config.Command].
type Runtime struct {
	// Output gets the program's output as it comes; nil is standard error, which the
	// provider keeps as the log.
	Output io.Writer
}

var _ agent.Runtime = Runtime{}

// Run runs the program to its end. Its own events go past us to the API.
func (c Runtime) Run(ctx context.Context, env agent.Env) (agent.Result, error) {
	if env.Done {
		return agent.Result{}, nil
	}
	if len(env.Config.Command) == 0 {
		return agent.Result{}, task.Invalid("command", "the command agent was given no command")
	}
	environ, closeRelay, err := relayed(env)
	if err != nil {
		return agent.Result{}, err
	}
	defer closeRelay()
	res, err := c.program(ctx, env, environ)
	if err != nil {
		return agent.Result{}, task.Invalid("command", "the command cannot be started: %s", err.Error())
	}
	if ctx.Err() != nil {
		return agent.Result{}, ctx.Err()
	}
	return c.settle(ctx, env, outcome{res, environ})
}

func (c Runtime) program(ctx context.Context, env agent.Env, environ []string) (proc.Result, error) {
	output := c.Output
	if output == nil {
		output = os.Stderr
	}
	done := env.Doing.Tool("command")
	defer done()
	return env.Procs.Run(ctx, proc.Command{
		Args: env.Config.Command, Dir: env.Config.Workspace, Env: environ, Output: output,
		Grace: min(env.Config.Grace/2, 5*time.Second),
	})
}

// outcome is how the program ended, and the environment that it had.
type outcome struct {
	proc.Result
	environ []string
}

// settle makes the outcome from the exit code, unless the program has reported one. In
// continuous mode a program that ended well is validated.
func (c Runtime) settle(ctx context.Context, env agent.Env, res outcome) (agent.Result, error) {
	told, err := reported(ctx, env)
	if err != nil {
		return agent.Result{}, err
	}
	failed := res.Outcome != proc.Exited || res.ExitCode != 0
	switch {
	case told:
		env.Log.InfoContext(ctx, "the program reported its outcome itself", slog.Int("exit_code", res.ExitCode))
	case failed:
		env.Report.Emit(task.EventAgentError, failure(res.Result))
	default:
		done := success(env, res.Result)
		env.Report.Emit(task.EventAgentCompleted, done)
		if env.Config.Continuous {
			v := c.validate(ctx, env, res.environ)
			v.report(env, done)
			failed = len(v.wrong) > 0
		}
	}
	return agent.Result{Failed: failed}, ctx.Err()
}

func failure(res proc.Result) map[string]any {
	class := task.ClassAgentError
	if res.Outcome == proc.OutOfMemory {
		class = task.ClassResources
	}
	return map[string]any{
		"error":      fmt.Sprintf("The command ended with exit code %d (%s). %s", res.ExitCode, res.Outcome, res.Note),
		"error_type": string(res.Outcome), "failure_class": string(class), "phase": "initial_task",
		"exit_code": res.ExitCode, "output": tail(res.Output), "duration_ms": res.Duration.Milliseconds(),
	}
}

func success(env agent.Env, res proc.Result) map[string]any {
	branch := ""
	if env.Config.Repo != nil {
		branch = env.Config.Repo.Branch
	}
	kind := env.Config.Env["AGENT_TYPE"]
	if kind == "" {
		kind = "implementer"
	}
	return map[string]any{
		"success": true, "turns": 0, "cost_usd": 0, "session_id": env.SessionID, "stop_reason": "exit_0",
		"input_tokens": 0, "output_tokens": 0, "cache_read_tokens": 0, "cache_write_tokens": 0,
		"final_output": tail(res.Output), "branch_name": branch, "agent_type": kind, "duration_ms": res.Duration.Milliseconds(),
	}
}

func tail(text string) string {
	return strings.ToValidUTF8(text[max(len(text)-5000, 0):], "?")
}

// decisive are the events by which a program reports its own outcome.
func decisive(continuous bool) []string {
	types := []string{task.EventContinuousCompleted, task.EventAgentError, task.EventAgentFailed}
	if !continuous {
		types = append(types, task.EventAgentCompleted)
	}
	return types
}

// reported asks the API whether the program has reported an outcome; it asks until it is
// answered, since a guess could end a task wrongly.
func reported(ctx context.Context, env agent.Env) (bool, error) {
	for _, eventType := range decisive(env.Config.Continuous) {
		n, err := count(ctx, env.Line, eventType)
		if err != nil {
			return false, err
		}
		if n > 0 {
			return true, nil
		}
	}
	return false, nil
}

func count(ctx context.Context, line *link.Client, eventType string) (int, error) {
	wait := 200 * time.Millisecond
	for {
		answer, err := line.Get(ctx, "/events?limit=1&event_type="+eventType, 0)
		if err == nil && answer.Status == http.StatusOK {
			var list struct {
				Total int `json:"total_count"`
			}
			if err := json.Unmarshal(answer.Body, &list); err != nil {
				return 0, fmt.Errorf("read the API's list of events: %w", err)
			}
			return list.Total, nil
		}
		if err == nil && answer.Status >= 400 && answer.Status < 500 && answer.Status != http.StatusTooManyRequests {
			return 0, nil // it will not tell; the exit code decides
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
		case <-timer.C:
		}
		wait = min(wait*2, 15*time.Second)
	}
}

// relayed gives a program that only knows URLs a way to an API behind a socket or files.
func relayed(env agent.Env) (environ []string, done func(), err error) {
	way := env.Line.Local()
	if way == nil {
		return env.Environ, func() {}, nil
	}
	address, done, err := relay(way, env.Config)
	if err != nil {
		return nil, nil, err
	}
	return withAddress(env.Environ, address), done, nil
}

// withAddress puts the relay's address where the environment has one that says
// nothing to a program that only knows URLs.
func withAddress(environ []string, address string) []string {
	own := []string{"CALLBACK_URL=" + address, "OMOIOS_API_URL=" + address, "MCP_SERVER_URL=" + address + "/mcp"}
	kept := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, name+"=") })
	})
	return append(kept, own...)
}

// mine is the only part of the API that the relay opens.
func mine(cfg spec.Config) string { return "/api/v1/sandboxes/" + cfg.SandboxID }
