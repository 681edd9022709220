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
	// checkInterval is the time between two checks that sandbox and agent still exist.
	checkInterval = 10 * time.Second
	// flushTimeout limits one read of the rest of an ended agent's spool.
	flushTimeout = time.Minute
)

// RelaySandbox relays for one turn between the API and a sandbox without network access: event batches of the spool,
// and other requests of the agent. It keeps no state: acknowledgements are stored in the sandbox's spool, and pending
// requests in its outbox. An unreachable provider does not end a turn.
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

// hint asks the task's workflow to check a sandbox that has ended. If the signal fails, the workflow's timers detect
// the end.
func (a *Activities) hint(ctx context.Context, row task.Sandbox) {
	err := a.deps.Runs.SignalCheck(ctx, row.TaskID, contract.CheckSignal{SandboxID: row.ID})
	if err != nil && task.CodeOf(err) != task.CodeGone {
		a.log.WarnContext(ctx, "signal end of sandbox failed, waiting for the next check of the task", slog.String("sandbox_id", row.ID), slog.String("error", a.brief(err.Error())))
	}
}

// relayed returns the sandbox of a relay. over says why the relay has nothing left to do: the sandbox is deleted, or
// this worker no longer relays for its provider.
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

// FlushSpool ends the agent, reads the rest of its spool, and records that the spool is empty.
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
	if err := r.flush(ctx, flushTimeout); err != nil {
		return ofSandbox(err)
	}
	a.keepCheckpoint(ctx, p)
	return nil
}

// transport returns how the sandbox's agent reports. It is decided before the sandbox is created; later changes of the
// settings do not matter.
func (a *Activities) transport(row task.Sandbox) string {
	switch {
	case row.Transport != "":
		return row.Transport
	case slices.Contains(a.cfg.Pull, row.Provider):
		return task.TransportPull
	}
	return task.TransportPush
}

// pulled reports whether a worker reads the events from the sandbox.
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

// files are the files of one sandbox.
type files struct{ place }

// ReadFile implements mailbox.Files.
func (f files) ReadFile(ctx context.Context, name string) (io.ReadCloser, error) {
	return f.provider.ReadFile(ctx, f.labels, name)
}

// WriteFile implements mailbox.Files. Only the agent's user can read the answers.
func (f files) WriteFile(ctx context.Context, name string, from io.Reader) error {
	return f.provider.WriteFile(ctx, f.labels, name, 0o600, from)
}

// run relays until ctx ends or nothing is left to relay, and returns why it ended.
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

// carry relays in the background until stop is called.
func (r *pullRelay) carry(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { r.rounds(ctx) })
	return func() {
		cancel()
		group.Wait()
	}
}

// look returns why the relay has ended, if the provider confirms it: the sandbox is gone, or its agent ended and all
// its events are stored.
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

// rounds reads the outbox until ctx ends: often while requests arrive, else at the configured interval.
func (r *pullRelay) rounds(ctx context.Context) {
	quick, failing := max(r.every/quicker, time.Millisecond), false
	for pause := quick; ctx.Err() == nil; pause = min(pause*2, r.every) {
		_, err := r.post.Round(ctx)
		if absent := task.CodeOf(err) == task.CodeNotFound; err != nil && !absent && !failing { // a starting agent has no outbox yet
			r.warn(ctx, err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
		case <-r.post.News(): // the agent has read its answers and may send more requests
			pause = quick / 2
			_ = wait.For(ctx, quick) // fails when ctx ends
		case <-time.After(pause):
		}
	}
}

// quicker is how many times more often the outbox of a busy agent is read.
const quicker = 8

func (r *pullRelay) warn(ctx context.Context, err error) {
	if ctx.Err() == nil {
		r.log.WarnContext(ctx, "relay events of sandbox failed, retrying", slog.String("sandbox_id", r.row.ID), slog.Any("error", err))
	}
}

const (
	// settleUnsent is the event of a spool that is lost in part.
	settleUnsent = "unsent"
	// unsentPatience limits how long the end of an attempt waits for unsent events.
	unsentPatience = 20 * time.Second
	// checkpointPatience limits how long the end of an attempt waits for the checkpoint of its last files.
	checkpointPatience = 30 * time.Second
)

// sendRest makes omoi-agent send the rest of an ended agent's spool, since the API may be reachable again. If it fails, the ledger
// records the number of unsent events, and the attempt ends.
func (a *Activities) sendRest(ctx context.Context, p place, unsent int64) {
	if unsent <= 0 || a.pulled(p.row) {
		return
	}
	err := p.flush(ctx, unsentPatience)
	if err == nil {
		return
	}
	a.log.WarnContext(ctx, "send remaining events failed, recording them as unsent", slog.String("sandbox_id", p.row.ID), slog.Int64("unsent_events", unsent), slog.String("error", a.brief(err.Error())))
	if err := a.deps.Ledger.RecordSandboxState(ctx, contract.RecordSandboxStateInput{SandboxID: p.row.ID, Event: settleUnsent}); err != nil {
		a.log.WarnContext(ctx, "record unsent events failed, missing events not shown", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(err.Error())))
	}
}

// keepCheckpoint makes omoi-agent take the checkpoint of an agent that ended without one. Without it the next attempt begins with an
// earlier one.
func (a *Activities) keepCheckpoint(ctx context.Context, p place) {
	if err := p.afterwards(ctx, "checkpoint", checkpointPatience); err != nil {
		a.log.WarnContext(ctx, "keep last checkpoint failed, the next attempt begins with an earlier one", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(err.Error())))
	}
}

// flush makes omoi-agent send the rest of the spool. With the pull transport the pull relay has to run at the same
// time.
func (p place) flush(ctx context.Context, within time.Duration) error {
	return p.afterwards(ctx, "flush", within)
}

// afterwards runs a command of omoi-agent that follows the end of the agent.
func (p place) afterwards(ctx context.Context, command string, within time.Duration) error {
	res, err := sandbox.Exec(ctx, p.provider, p.labels, sandbox.Command{
		Args: []string{sandbox.AgentPath, command, "--config", agentconfig.ConfigPath}, Timeout: within,
	})
	if err != nil {
		return fmt.Errorf("run omoi-agent %s: %w", command, err)
	}
	if res.ExitCode != 0 {
		said := strings.TrimSpace(string(res.Stderr[:min(len(res.Stderr), maxReasonRunes)]))
		return task.Errorf(task.CodeUnavailable, "omoi-agent %s in sandbox %s failed: %s", command, p.row.ID, said)
	}
	return nil
}
