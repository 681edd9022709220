package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/rawlog"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// newLogs makes the reader of the sandboxes' own logs.
func (c *core) newLogs(host string, found providers) *rawlog.Watcher {
	return rawlog.New(rawlog.Config{
		HostID: host, Keep: c.cfg.Sandbox.LogBytes, Hide: c.hider,
		Wake: func(sandboxID string) { c.bus.Wake(live.Sandbox(sandboxID)) },
	}, c.store, c.asked(found), c.log)
}

// asked are the providers that this process has what it needs for.
func (c *core) asked(found providers) []sandbox.Provider {
	var all []sandbox.Provider
	for _, p := range found {
		if c.cfg.Daytona.APIKey != "" || p.Name() != task.ProviderDaytona {
			all = append(all, p)
		}
	}
	return all
}

// envOf is what a task's agent was given that may be secret.
func (c *core) envOf(ctx context.Context, work task.Work) (map[string]string, error) {
	given, err := c.credentials.ForTask(ctx, work)
	if err != nil && task.CodeOf(err) != task.CodeNotFound { // what is missing was not given
		return nil, err
	}
	env := map[string]string{}
	maps.Copy(env, given)
	maps.Copy(env, work.Execution.Env)
	return env, nil
}

// hider knows what a task's agent is given now and what it was given, and our own secrets.
func (c *core) hider(ctx context.Context, taskID string, given map[string]string) (func(string) string, error) {
	own, env := c.cfg.Secrets(), map[string]string(nil)
	if taskID != "" {
		work, err := c.store.Life().Work(ctx, taskID)
		if err == nil {
			env, err = c.envOf(ctx, work)
			err = cmp.Or(work.Unreadable, err)
		}
		if err != nil && task.CodeOf(err) != task.CodeNotFound { // so is what it was given
			return nil, fmt.Errorf("read what task %s was given: %w", taskID, err)
		}
	}
	now, then := redact.New("", env), redact.New("", given)
	return func(text string) string { return redact.Scrub(then.Text(now.Text(text)), own) }, nil
}
