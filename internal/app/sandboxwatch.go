package app

import (
	"context"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandboxwatch"
)

// newSandboxWatch makes what notices that a sandbox of this machine, or at a provider, has ended.
func (c *core) newSandboxWatch(host string, found providers) *sandboxwatch.Watcher {
	return sandboxwatch.New(sandboxwatch.Config{HostID: host, Installation: c.store.Installation, Tell: func(ctx context.Context, taskID, sandboxID string) error {
		return c.temporal.SignalCheck(ctx, taskID, contract.CheckSignal{SandboxID: sandboxID})
	}}, c.store, c.asked(found), c.log)
}
