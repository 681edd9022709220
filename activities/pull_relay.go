package activities

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/mailbox"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

const (
	// checkInterval is how often a relay asks whether sandbox and agent still exist.
	checkInterval = 10 * time.Second
	// flushTimeout bounds one reading of what an agent that has ended left in its spool.
	flushTimeout = time.Minute
)

// RelaySandbox carries between a sandbox whose agent reaches nothing and the API, for one turn:
// batches of its spool, and whatever else an agent asks over a network. It holds nothing that
// has to outlive it. What the API acknowledged stands in the sandbox's spool, and where it
// resumes is what waits in the agent's outbox. A provider that cannot be asked ends no turn.
func (a *Activities) RelaySandbox(ctx context.Context, in contract.SandboxRef) (contract.PullRelayTurn, error) {
	_, stop := beating[struct{}](ctx)
	defer stop()
	p, over, err := a.relayed(ctx, in.SandboxID)
	if err != nil || over != "" {
		return contract.PullRelayTurn{Over: over}, err
	}
	r := a.newPullRelay(p)
	turn, cancel := context.WithTimeout(ctx, a.cfg.PullTurn)
	defer r.post.Wait()
	defer cancel()
	if over = r.run(turn); over != "" {
		a.hint(ctx, p.row)
	}
	return contract.PullRelayTurn{Over: over}, ctx.Err()
}

// hint has the task's workflow look at a sandbox that has ended. Where it cannot be told, its own
// timers notice.
func (a *Activities) hint(ctx context.Context, row task.Sandbox) {
	err := a.deps.Runs.SignalCheck(ctx, row.TaskID, contract.CheckSignal{SandboxID: row.ID})
	if err != nil && task.CodeOf(err) != task.CodeGone {
		a.log.WarnContext(ctx, "signal end of sandbox failed", slog.String("sandbox_id", row.ID), slog.String("error", a.brief(err.Error())))
	}
}

// relayed finds the sandbox of a relay. One that the ledger has as gone is over also where this
// worker no longer has its provider, or carries for nobody.
func (a *Activities) relayed(ctx context.Context, sandboxID string) (p place, over string, err error) {
	row, err := a.deps.Ledger.LedgerSandbox(ctx, sandboxID)
	if err != nil {
		return p, "", fmt.Errorf("read ledger of sandbox %s: %w", sandboxID, err)
	}
	if row.State == task.SandboxGone {
		return p, "the sandbox is gone", nil
	}
	if p, err = a.here(ctx, sandboxID); err == nil && !p.exec() {
		over = "the sandbox has no files"
	}
	return p, over, ofSandbox(err)
}

// FlushSpool reads what is left in the spool of an agent, which it ends, and notes that nothing is.
func (a *Activities) FlushSpool(ctx context.Context, in contract.SandboxRef) error {
	_, stop := beating[struct{}](ctx)
	defer stop()
	p, err := a.here(ctx, in.SandboxID)
	if err != nil || !p.exec() {
		return ofSandbox(err)
	}
	if err := a.drain(ctx, p); err != nil {
		return err
	}
	return a.deps.Ledger.RecordSandboxState(ctx, contract.RecordSandboxStateInput{SandboxID: in.SandboxID, Event: settleSpoolRead})
}

// settleSpoolRead is the event of a spool that was read to its end.
const settleSpoolRead = "read"

func (a *Activities) drain(ctx context.Context, p place) error {
	seen, err := p.inspect(ctx)
	switch {
	case err != nil:
		return ofSandbox(err)
	case seen.State == sandbox.StateGone:
		return classed(task.ClassInfrastructure, task.Errorf(task.CodeGone, "sandbox %s is deleted, and its spool with it", p.row.ID))
	case !seen.Started && p.row.StartedAt == nil:
		return nil
	}
	if err := a.halt(ctx, p); err != nil {
		return ofSandbox(err)
	}
	r := a.newPullRelay(p)
	defer r.post.Wait()
	defer r.carry(ctx)()
	return ofSandbox(r.flush(ctx, flushTimeout))
}

// transport is how the agent of a sandbox reports: as it was decided when the sandbox was first
// to be made, whatever the settings have become.
func (a *Activities) transport(row task.Sandbox) string {
	switch {
	case row.Transport != "":
		return row.Transport
	case slices.Contains(a.cfg.Pull, row.Provider):
		return task.TransportPull
	}
	return task.TransportPush
}

// pulled reports whether what the agent of a sandbox says has to be read out of it.
func (a *Activities) pulled(row task.Sandbox) bool { return a.transport(row) == task.TransportPull }

// pullRelay relays between one sandbox and the API.
type pullRelay struct {
	place
	post  *mailbox.Forwarder
	every time.Duration
	log   *slog.Logger
}

func (a *Activities) newPullRelay(p place) *pullRelay {
	return &pullRelay{place: p, every: a.cfg.PullInterval, log: a.log, post: mailbox.NewForwarder(mailbox.Route{
		Files: files{p}, Dir: sandbox.Dir, API: a.deps.API, Own: "/api/v1/sandboxes/" + p.row.ID,
		Token: a.deps.Tokens.Mint(p.row.ID), Log: a.log,
	})}
}

// files are those of one sandbox.
type files struct{ place }

// ReadFile implements mailbox.Files.
func (f files) ReadFile(ctx context.Context, name string) (io.ReadCloser, error) {
	return f.provider.ReadFile(ctx, f.labels, name)
}

// WriteFile implements mailbox.Files. Answers are for the agent alone.
func (f files) WriteFile(ctx context.Context, name string, from io.Reader) error {
	return f.provider.WriteFile(ctx, f.labels, name, 0o600, from)
}

// run relays until ctx ends, or until there is nothing left to relay, and says why.
func (r *pullRelay) run(ctx context.Context) (over string) {
	defer r.carry(ctx)()
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		if over := r.look(ctx); over != "" {
			return over
		}
		select {
		case <-ctx.Done():
			return ""
		case <-ticker.C:
		}
	}
}

// carry relays in the background until it is stopped.
func (r *pullRelay) carry(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { r.rounds(ctx) })
	return func() {
		cancel()
		group.Wait()
	}
}

// look says why the relay is over, if the provider is sure of it: the sandbox is gone, or its
// agent has ended and everything that it said is stored.
func (r *pullRelay) look(ctx context.Context) (over string) {
	seen, err := r.inspect(ctx)
	switch {
	case err != nil:
		r.warn(ctx, fmt.Errorf("inspect sandbox: %w", err))
		return ""
	case seen.State == sandbox.StateGone:
		return "the sandbox is gone"
	case !seen.Started || seen.Agent != sandbox.StateGone:
		return ""
	}
	if err := r.flush(ctx, flushTimeout); err != nil {
		r.warn(ctx, err)
		return ""
	}
	return "the agent has ended"
}

// rounds looks into the outbox until ctx ends: often while there is something to carry, else
// at the configured interval.
func (r *pullRelay) rounds(ctx context.Context) {
	quick, failing := max(r.every/quicker, time.Millisecond), false
	for pause := quick; ctx.Err() == nil; pause = min(pause*2, r.every) {
		_, err := r.post.Round(ctx)
		if absent := task.CodeOf(err) == task.CodeNotFound; err != nil && !absent && !failing { // an agent that begins has none
			r.warn(ctx, err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
		case <-r.post.News(): // it asks for more, once it has read
			pause = quick / 2
			_ = wait.For(ctx, quick) // fails when ctx ends
		case <-time.After(pause):
		}
	}
}

// quicker is how many looks a busy agent gets for one of a quiet one.
const quicker = 8

func (r *pullRelay) warn(ctx context.Context, err error) {
	if ctx.Err() == nil {
		r.log.WarnContext(ctx, "relay sandbox failed", slog.String("sandbox_id", r.row.ID), slog.Any("error", err))
	}
}

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
	a.log.WarnContext(ctx, "flush spool failed", slog.String("sandbox_id", p.row.ID), slog.Int64("unsent_events", unsent), slog.String("error", a.brief(err.Error())))
	if err := a.deps.Ledger.RecordSandboxState(ctx, contract.RecordSandboxStateInput{SandboxID: p.row.ID, Event: settleUnsent}); err != nil {
		a.log.WarnContext(ctx, "record unsent events failed", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(err.Error())))
	}
}

// flush has omoi-agent send what is left in the spool. Where the agent cannot reach the API, the pull relay has to run meanwhile.
func (p place) flush(ctx context.Context, within time.Duration) error {
	res, err := sandbox.Exec(ctx, p.provider, p.labels, sandbox.Command{
		Args: []string{sandbox.AgentPath, "flush", "--config", agentconfig.ConfigPath}, Timeout: within,
	})
	if err != nil {
		return fmt.Errorf("read the rest of a spool: %w", err)
	}
	if res.ExitCode != 0 {
		said := strings.TrimSpace(string(res.Stderr[:min(len(res.Stderr), maxReasonRunes)]))
		return task.Errorf(task.CodeUnavailable, "read the rest of the spool of sandbox %s: %s", p.row.ID, said)
	}
	return nil
}
