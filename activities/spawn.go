package activities

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// EnsureSandbox creates the sandbox that BeginAttempt recorded, or adopts it if an earlier try created it. It never
// adopts a sandbox with other labels.
func (a *Activities) EnsureSandbox(ctx context.Context, in contract.SandboxRef) (contract.SpawnedSandbox, error) {
	_, stop := beating[struct{}](ctx)
	defer stop()
	p, err := a.here(ctx, in.SandboxID)
	if err != nil {
		return contract.SpawnedSandbox{}, err
	}
	if err := spawnable(p); err != nil {
		return contract.SpawnedSandbox{}, err
	}
	if err := a.provided(ctx, p.row.TaskID); err != nil {
		return contract.SpawnedSandbox{}, err
	}
	if err := ready(p.provider); err != nil { // checked before the ledger says that a sandbox may exist
		return contract.SpawnedSandbox{}, fmt.Errorf("create sandbox: %w", err)
	}
	if err := a.deps.Ledger.SandboxCreating(ctx, in.SandboxID, a.transport(p.row)); err != nil {
		return contract.SpawnedSandbox{}, ofSandbox(fmt.Errorf("record sandbox creation: %w", err))
	}
	made, err := a.ensure(ctx, p)
	if err != nil {
		return contract.SpawnedSandbox{}, ofSandbox(fmt.Errorf("create sandbox: %w", err))
	}
	if err := a.deps.Ledger.SandboxRunning(ctx, in.SandboxID, made); err != nil {
		return contract.SpawnedSandbox{}, ofSandbox(fmt.Errorf("record running sandbox: %w", err))
	}
	a.log.InfoContext(ctx, "sandbox created", slog.String("sandbox_id", p.row.ID), slog.String("task_id", p.row.TaskID),
		slog.Int("attempt", p.row.Attempt), slog.String("provider", p.row.Provider))
	return contract.SpawnedSandbox{
		ProviderID: made.ProviderID, Adopted: made.Adopted, Isolation: made.Isolation, Pulled: a.pulled(p.row),
	}, nil
}

// ready returns what a provider lacks to create sandboxes, as an error.
func ready(p sandbox.Provider) error {
	if r, ok := p.(sandbox.Readier); ok {
		return r.Ready()
	}
	return nil
}

// spawnable returns an error for an attempt that has ended, for example by a cancel.
func spawnable(p place) error {
	if p.row.Provider == task.ProviderBare {
		return task.Invalid("sandbox", "Sandbox %s does not belong to a task.", p.row.ID)
	}
	switch p.row.State {
	case task.SandboxDeleting, task.SandboxGone, task.SandboxLost:
		return classed(task.ClassInfrastructure, task.Errorf(task.CodeGone, "sandbox %s is already %s", p.row.ID, p.row.State))
	case task.SandboxIntended, task.SandboxCreating, task.SandboxRunning:
	}
	return nil
}

// ensure creates or adopts the sandbox of a row. After an attempt that ran out of memory or disk, the next one gets the
// next size up if the provider supports it.
func (a *Activities) ensure(ctx context.Context, p place) (sandbox.Sandbox, error) {
	if !p.machine() { // an external agent reports under this ID; there is nothing to create
		return sandbox.Sandbox{ProviderID: task.SandboxName(p.row.ID), Isolation: []string{"none"}, CreatedAt: time.Now().UTC()}, nil
	}
	want, grown, err := a.spec(ctx, p)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	if err := a.located(ctx, p); err != nil {
		return sandbox.Sandbox{}, err
	}
	made, err := p.provider.Ensure(ctx, want)
	if grown {
		made.Isolation = append(slices.Clip(made.Isolation), larger(made))
	}
	return made, ofHost(err)
}

// located records where a sandbox will be, before it is created there: if the answer is lost, the next try may run on a worker with another
// place, which must not create a second one.
func (a *Activities) located(ctx context.Context, p place) error {
	at, ok := p.provider.(sandbox.Placed)
	if !ok || p.row.ProviderID != "" {
		return nil
	}
	where, err := at.Place(ctx)
	if err != nil {
		return err
	}
	if err := a.deps.Ledger.SandboxPlaced(ctx, p.row.ID, where); err != nil {
		return ofSandbox(fmt.Errorf("record place of sandbox: %w", err))
	}
	_, err = a.here(ctx, p.row.ID) // a try on another worker may have recorded its place first
	return err
}

func larger(made sandbox.Sandbox) string {
	if made.FixedSize {
		return "no next size up: its snapshot has a size of its own"
	}
	return "next size up asked for"
}

// spec returns the specification of a sandbox. Each call returns the same one: the results of earlier attempts do not
// change.
func (a *Activities) spec(ctx context.Context, p place) (want sandbox.Spec, grown bool, err error) {
	want = sandbox.Spec{Labels: p.labels, Limits: a.cfg.Limits, Network: a.cfg.Network, Lifetime: a.cfg.Lifetime}
	if p.row.Attempt <= 1 {
		return want, false, nil
	}
	times, err := a.deps.Ledger.RanOut(ctx, p.row.TaskID, p.row.Attempt)
	if err != nil {
		return want, false, fmt.Errorf("read what size the sandbox needs: %w", err)
	}
	if times > 0 {
		want.Limits = want.Limits.Grown(times)
	}
	return want, times > 0, nil
}

// provided checks before the creation of a sandbox that its agent will have the credentials it needs.
func (a *Activities) provided(ctx context.Context, taskID string) error {
	if a.deps.Credentials == nil {
		return nil
	}
	work, err := a.work(ctx, taskID)
	if err != nil {
		return err
	}
	_, err = a.deps.Credentials.ForTask(ctx, work)
	return ofCredentials(err)
}

// given returns the credentials of a task's sandbox.
func (a *Activities) given(ctx context.Context, work task.Work) (map[string]string, error) {
	if work.Unreadable != nil {
		return nil, ofCredentials(work.Unreadable)
	}
	if a.deps.Credentials == nil {
		return map[string]string{}, nil
	}
	env, err := a.deps.Credentials.Give(ctx, work)
	return env, ofCredentials(err)
}

// ofCredentials classifies an error of the search for credentials: only a user can provide a missing one.
func ofCredentials(err error) error {
	if code := task.CodeOf(err); code == task.CodeNotFound || code == task.CodeInvalid {
		return classed(task.ClassCredentials, err)
	}
	return err
}
