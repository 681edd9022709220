package activities

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	// settleUnsent is the event of a spool that is lost in part.
	settleUnsent = "unsent"
	// unsentPatience is how long the end of an attempt waits for what its agent could not send.
	unsentPatience = 20 * time.Second
)

// sendRest has the program of an agent that pushes, and has ended, send what it left in its spool:
// the API may be back. Where it does not get through the ledger says so; it holds up nothing more.
func (a *Activities) sendRest(ctx context.Context, p place, unsent int64) {
	if unsent <= 0 || a.pulled(p.row) {
		return
	}
	err := p.flush(ctx, unsentPatience)
	if err == nil {
		return
	}
	a.log.WarnContext(ctx, "an agent could not send all that it said", slog.String("sandbox_id", p.row.ID), slog.Int64("events", unsent), slog.String("error", a.brief(err.Error())))
	if err := a.deps.Ledger.RecordSandboxState(ctx, contract.RecordSandboxStateInput{SandboxID: p.row.ID, Event: settleUnsent}); err != nil {
		a.log.WarnContext(ctx, "not written that a spool is lost", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(err.Error())))
	}
}

// flush has the agent's program send what is left in the spool. Where the agent reaches nothing,
// somebody has to carry meanwhile.
func (p place) flush(ctx context.Context, within time.Duration) error {
	res, err := sandbox.Exec(ctx, p.provider, p.labels, sandbox.Command{
		Args: []string{sandbox.AgentPath, "flush", "--config", agentconfig.ConfigPath}, Timeout: within,
	})
	if err != nil {
		return fmt.Errorf("read the rest of a spool: %w", err)
	}
	if res.ExitCode != 0 {
		said := strings.TrimSpace(string(res.Stderr[:min(len(res.Stderr), maxReasonRunes)]))
		return task.Errorf(task.CodeUnavailable, "the rest of the spool of sandbox %s cannot be read: %s", p.row.ID, said)
	}
	return nil
}
