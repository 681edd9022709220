package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandboxlog"
	"github.com/omoi-dev/omoi/internal/sandboxwatch"
	"github.com/omoi-dev/omoi/internal/task"
)

// newLogs returns the reader of sandbox logs.
func (c *core) newLogs(host string, found providers) *sandboxlog.Watcher {
	return sandboxlog.New(sandboxlog.Config{
		HostID: host, Hide: c.hider,
		Wake: func(sandboxID string) { c.bus.Wake(live.Sandbox(sandboxID)) },
	}, c.store, c.asked(found), c.log)
}

// asked returns the providers whose required settings are set.
func (c *core) asked(found providers) []sandbox.Provider {
	var all []sandbox.Provider
	for _, p := range found {
		if configured(c.cfg, p.Name()) {
			all = append(all, p)
		}
	}
	return all
}

// envOf returns the environment of a task's agents, which may contain secrets. The result is empty without a task, or if
// the task does not exist.
func (c *core) envOf(ctx context.Context, taskID string) (map[string]string, error) {
	env := map[string]string{}
	if taskID == "" {
		return env, nil
	}
	work, err := c.store.Work(ctx, taskID)
	if task.CodeOf(err) == task.CodeNotFound {
		return env, nil
	}
	if err = cmp.Or(err, work.Unreadable); err != nil {
		return nil, err
	}
	given, err := c.credentials.Hidden(ctx, work)
	if err != nil && task.CodeOf(err) != task.CodeNotFound { // missing credentials were not passed to the agent
		return nil, err
	}
	maps.Copy(env, given)
	maps.Copy(env, work.Execution.Env)
	return env, nil
}

// hider returns a function that removes secrets from a text: the current and the earlier environment of the task, and
// the secrets of omoi. hider returns an error while a credential cannot be decrypted, so that the log waits for the
// key.
func (c *core) hider(ctx context.Context, taskID string, given map[string]string) (func(string) string, error) {
	env, err := c.envOf(ctx, taskID)
	if err != nil {
		return nil, fmt.Errorf("read what task %s was given: %w", taskID, err)
	}
	own, now, then := c.cfg.Secrets(), redact.New("", env), redact.New("", given)
	return func(text string) string { return redact.Scrub(then.Text(now.Text(text)), own) }, nil
}

// newSandboxWatch returns the watcher that detects ended sandboxes on this machine and at providers.
func (c *core) newSandboxWatch(host string, found providers) *sandboxwatch.Watcher {
	return sandboxwatch.New(sandboxwatch.Config{HostID: host, Installation: c.store.Installation, Tell: func(ctx context.Context, taskID, sandboxID string) error {
		return c.temporal.SignalCheck(ctx, taskID, contract.CheckSignal{SandboxID: sandboxID})
	}}, c.store, c.asked(found), c.log)
}
