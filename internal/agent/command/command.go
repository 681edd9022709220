// Package command runs a given program as the agent: one that speaks our event lines, an unchanged worker
// of the replaced system, or any other. It gets the environment contract, and its exit code is the outcome
// where it has not told one itself.
package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/uptime"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Runtime runs [agentconfig.Config.Command].
type Runtime struct {
	// Output gets the program's output as it comes; nil is standard error, which the
	// provider keeps as the log.
	Output io.Writer
	// LookEvery is how often the work tree is looked at while the program says nothing; zero is 10 s.
	LookEvery time.Duration
}

var _ agent.Runtime = Runtime{}

const defaultLook = 10 * time.Second

// Run runs the program until the task has an outcome.
func (c Runtime) Run(ctx context.Context, env agent.Env) (agent.Result, error) {
	if env.Done {
		return agent.Result{}, nil
	}
	if len(env.Config.Command) == 0 {
		return agent.Result{}, task.Invalid("command", "the command agent was given no command")
	}
	vars := agent.Variables(env.Environ)
	if err := continuous.Check(vars); err != nil {
		return agent.Result{}, err
	}
	environ, closeRelay, err := relayed(env)
	if err != nil {
		return agent.Result{}, err
	}
	defer closeRelay()
	r := c.prepare(ctx, env, vars, environ)
	defer r.rec.log.close()
	res, err := r.work(ctx)
	r.tooLate(ctx)
	if ctx.Err() != nil {
		return agent.Result{}, ctx.Err()
	}
	return res, err
}

func (c Runtime) prepare(ctx context.Context, env agent.Env, vars map[string]string, environ []string) *run {
	r := &run{
		env: env, vars: vars, environ: environ, log: c.Output, every: c.LookEvery, limits: continuous.Read(vars, env.Config.Continuous), began: uptime.Now(),
	}
	if r.log == nil {
		r.log = os.Stderr
	}
	r.every = cmp.Or(max(r.every, 0), defaultLook)
	place := openPlace(env.Config.Dir)
	r.rec = newRecorder(ctx, env, place, r.limits)
	r.rec.begin = r.begin
	if env.Config.Continuous {
		r.time = uptime.After(r.limits.Left(&place.State))
	}
	r.receiver = agent.Listen(ctx, env.Inbox)
	return r
}

// reported asks the API whether the program has reported an outcome; it asks until it is
// answered, since a guess could end a task wrongly.
func reported(ctx context.Context, env agent.Env) (bool, error) {
	for _, eventType := range event.Types(event.Outcome) {
		if !event.Ends(eventType, env.Config.Continuous) {
			continue
		}
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

func count(ctx context.Context, line *apiclient.Client, eventType string) (int, error) {
	for delay := 200 * time.Millisecond; ; delay = min(2*delay, 15*time.Second) {
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
		if err := wait.For(ctx, delay); err != nil {
			return 0, err
		}
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
func mine(cfg agentconfig.Config) string { return "/api/v1/sandboxes/" + cfg.SandboxID }
