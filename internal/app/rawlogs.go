package app

import (
	"context"
	"fmt"

	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/rawlog"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// newLogs makes the reader of the sandboxes' own logs.
func (c *core) newLogs(host string, found providers) *rawlog.Watcher {
	var all []sandbox.Provider
	for _, p := range found {
		if c.cfg.Daytona.APIKey != "" || p.Name() != task.ProviderDaytona {
			all = append(all, p)
		}
	}
	return rawlog.New(rawlog.Config{
		HostID: host, Keep: c.cfg.Sandbox.LogBytes, Hide: c.hider,
		Wake: func(sandboxID string) { c.bus.Wake(live.Sandbox(sandboxID)) },
	}, c.store, all, c.log)
}

// hider knows what a task's agent was given, and our own secrets.
func (c *core) hider(ctx context.Context, taskID string) (func(string) string, error) {
	own, hider := secrets(c.cfg), (*redact.Hider)(nil)
	if taskID != "" {
		work, err := c.store.Life().Work(ctx, taskID)
		switch {
		case task.CodeOf(err) == task.CodeNotFound: // so is what it was given
		case err != nil:
			return nil, fmt.Errorf("read task %s: %w", taskID, err)
		default:
			hider = redact.New("", work.Execution.Env)
		}
	}
	return func(text string) string { return redact.Scrub(hider.Text(text), own) }, nil
}
