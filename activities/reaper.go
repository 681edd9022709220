package activities

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// ListReaperTargets returns the providers that the reaper has to visit.
func (a *Activities) ListReaperTargets(ctx context.Context) (contract.ListReaperTargetsResult, error) {
	targets, err := a.deps.Fleet.Targets(ctx)
	if err != nil {
		return contract.ListReaperTargetsResult{}, fmt.Errorf("list places of sandboxes: %w", err)
	}
	named := func(name string) bool {
		return slices.ContainsFunc(targets, func(t contract.ReaperTarget) bool { return t.Provider == name })
	}
	for _, name := range a.cfg.Shared {
		if !named(name) {
			targets = append(targets, contract.ReaperTarget{Provider: name, Queue: contract.QueueSandboxes})
		}
	}
	for _, p := range task.Providers {
		if p.Machine && !p.HostBound && !named(p.Name) { // operators do not need to see a provider without sandboxes
			a.alert(ctx, p.Name, "")
		}
	}
	return contract.ListReaperTargetsResult{Targets: targets}, nil
}

// unasked returns why a provider with sandboxes of this installation cannot be asked until an operator configures it;
// empty if it can. A retry cannot succeed in that case.
func (a *Activities) unasked(name string) string {
	p, err := a.deps.Providers.Provider(name)
	if err != nil || ready(p) == nil {
		return ""
	}
	return fmt.Sprintf("sandboxes of %s stay unverified, since nobody can ask for them: %s", name, task.MessageOf(ready(p)))
}

// FindOrphans compares the sandboxes that a provider lists under this installation's label with the running attempts of
// the store. Without a provider it reads the ledger alone. It returns no orphans of an unreachable provider.
func (a *Activities) FindOrphans(ctx context.Context, in contract.FindOrphansInput) (contract.Orphans, error) {
	if in.Provider == "" {
		return a.findInLedger(ctx)
	}
	if why := a.unasked(in.Provider); why != "" {
		a.alert(ctx, a.placeOf(in.Provider), why)
		return contract.Orphans{Alert: why}, nil
	}
	listed, err := a.list(ctx, in.Provider)
	if err != nil {
		return contract.Orphans{}, err
	}
	orphans, err := a.deps.Fleet.Unowned(ctx, listed, a.cfg.Grace)
	if err != nil {
		return contract.Orphans{}, fmt.Errorf("compare sandboxes of %s: %w", in.Provider, err)
	}
	out := guarded(in.Provider, len(listed), orphans)
	a.alert(ctx, a.placeOf(in.Provider), out.Alert)
	if out.Orphans, err = a.again(ctx, in.Provider, listed, out.Orphans); err != nil {
		return contract.Orphans{}, err
	}
	if err := a.adopt(ctx, in.Provider, listed, out.Orphans); err != nil {
		return contract.Orphans{}, err
	}
	return out, nil
}

// findInLedger returns the ledger rows that nothing cleans up, and raises an alert about rows that have stayed so for
// long.
func (a *Activities) findInLedger(ctx context.Context) (contract.Orphans, error) {
	if err := a.deps.Fleet.EndStrays(ctx); err != nil {
		return contract.Orphans{}, fmt.Errorf("end abandoned attempts: %w", err)
	}
	orphans, err := a.deps.Fleet.LedgerOrphans(ctx, a.cfg.Grace)
	if err != nil {
		return contract.Orphans{}, fmt.Errorf("read orphans of the ledger: %w", err)
	}
	if err := a.tellAgain(ctx); err != nil {
		return contract.Orphans{}, err
	}
	n, oldest, err := a.deps.Fleet.Overdue(ctx, a.cfg.Overdue)
	if err != nil {
		return contract.Orphans{}, fmt.Errorf("count unverified sandboxes: %w", err)
	}
	text := ""
	if n > 0 {
		text = fmt.Sprintf("deletion not verified for %d sandboxes, the oldest ended %s ago. Next: omoi sandbox list, omoi host list",
			n, oldest.Round(time.Second))
	}
	a.alert(ctx, "unverified", text)
	return contract.Orphans{Orphans: orphans}, nil
}

// alert raises or clears an alert. A failure does not stop the pass.
func (a *Activities) alert(ctx context.Context, source, text string) {
	if err := a.deps.Fleet.SetAlert(ctx, source, text); err != nil {
		a.log.WarnContext(ctx, "record alert failed", slog.String("source", source), slog.String("alert", text), slog.String("error", a.brief(err.Error())))
	}
}

// placeOf returns the name of a provider, with the host if the provider is bound to one.
func (a *Activities) placeOf(provider string) string {
	if a.capabilities(provider).HostBound {
		return provider + " on " + a.cfg.HostID
	}
	return provider
}

// adopt writes a ledger row for each orphan, which its cleanup needs.
func (a *Activities) adopt(ctx context.Context, provider string, listed []sandbox.Sandbox, orphans []contract.Orphan) error {
	found := slices.DeleteFunc(slices.Clone(listed), func(box sandbox.Sandbox) bool {
		return !slices.ContainsFunc(orphans, func(o contract.Orphan) bool { return o.SandboxID == box.Labels.SandboxID })
	})
	host := ""
	if a.capabilities(provider).HostBound {
		host = a.cfg.HostID
	}
	return a.deps.Fleet.Adopt(ctx, provider, host, found)
}

// list returns the sandboxes of this installation at a provider. If the ledger has one of them on a lost host, list
// corrects the ledger, and a cleanup that waits for that host continues on this one.
func (a *Activities) list(ctx context.Context, name string) ([]sandbox.Sandbox, error) {
	provider, err := a.deps.Providers.Provider(name)
	if err != nil {
		return nil, task.Errorf(task.CodeUnavailable, "this worker does not offer provider %s", name).WithCause(err)
	}
	installation, err := a.deps.Fleet.Installation(ctx)
	if err != nil {
		return nil, err
	}
	listed, err := provider.List(ctx, installation)
	if err != nil {
		return nil, fmt.Errorf("list sandboxes of %s: %w", name, err)
	}
	if !provider.Capabilities().HostBound || a.cfg.HostID == "" {
		return listed, nil
	}
	if err := a.deps.Fleet.Found(ctx, a.cfg.HostID, listed); err != nil {
		return nil, fmt.Errorf("note where sandboxes of %s are: %w", name, err)
	}
	return listed, nil
}

// minMass is the number of orphans from which guarded checks for a mistake.
const minMass = 5

// guarded returns no orphans if most existing sandboxes look like orphans: a lost database or a wrong label is then far
// more likely.
func guarded(provider string, alive int, orphans []contract.Orphan) contract.Orphans {
	out := contract.Orphans{Alive: alive}
	if len(orphans) >= minMass && 2*len(orphans) > alive {
		out.Alert = fmt.Sprintf("%d of %d sandboxes of %s look orphaned: none is removed. If the database was lost or set back, see omoi sandbox prune", len(orphans), alive, provider)
		return out
	}
	out.Orphans = orphans
	return out
}

// StartCleanup starts the cleanup workflow of a sandbox. It succeeds if the workflow is already open.
func (a *Activities) StartCleanup(ctx context.Context, in contract.CleanupInput) error {
	return a.deps.Runs.StartCleanup(ctx, in)
}

// asking is the number of concurrent requests to Temporal.
const asking = 16

// ReconcileTasks fails tasks that are open in the store and closed in Temporal, for example after a terminate. A task
// whose state in Temporal is unknown stays as it is.
func (a *Activities) ReconcileTasks(ctx context.Context) (contract.ReconcileTasksResult, error) {
	ids, err := a.deps.Reconciler.OpenTasks(ctx, a.cfg.Grace)
	if err != nil {
		return contract.ReconcileTasksResult{}, fmt.Errorf("list open tasks: %w", err)
	}
	var abandoned atomic.Int64
	var group errgroup.Group
	group.SetLimit(asking)
	for _, id := range ids {
		group.Go(func() error {
			done, err := a.repair(ctx, id)
			if err != nil {
				a.log.WarnContext(ctx, "reconcile task failed, retrying in the next pass", slog.String("task_id", id), slog.String("error", a.brief(err.Error())))
			}
			if done {
				abandoned.Add(1)
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	return contract.ReconcileTasksResult{Abandoned: int(abandoned.Load())}, ctx.Err()
}

// repair fails a task whose workflow is closed, and reports whether it did.
func (a *Activities) repair(ctx context.Context, taskID string) (bool, error) {
	_, open, err := a.deps.Runs.CurrentRun(ctx, taskID)
	switch {
	case task.CodeOf(err) == task.CodeNotFound:
	case err != nil:
		return false, fmt.Errorf("load the workflow run: %w", err)
	case open:
		return false, nil
	}
	if err := a.deps.Reconciler.Abandon(ctx, taskID, "The workflow was terminated."); err != nil {
		return false, fmt.Errorf("write off: %w", err)
	}
	return true, a.cleanAfter(ctx, taskID)
}

// cleanAfter starts the cleanup of the sandboxes that a task left. Otherwise the reaper would start it only after the
// grace period, and a retry would wait for it.
func (a *Activities) cleanAfter(ctx context.Context, taskID string) error {
	left, err := a.deps.Reconciler.Leftovers(ctx, taskID)
	if err != nil {
		return fmt.Errorf("find its sandboxes: %w", err)
	}
	for _, o := range left {
		if err := a.deps.Runs.StartCleanup(ctx, o.CleanupInput); err != nil {
			return err
		}
	}
	return nil
}

// AdmitTasks runs admission once for each organization.
func (a *Activities) AdmitTasks(ctx context.Context) error {
	return a.deps.Reconciler.Grant(ctx)
}

// PauseIdleReaper pauses the reaper's schedule while there is nothing to watch. A later start of a task finds the flag
// and resumes the schedule. A second check finds tasks that were accepted during the pause.
func (a *Activities) PauseIdleReaper(ctx context.Context) (contract.PauseIdleReaperResult, error) {
	idle, err := a.deps.Reconciler.IsIdle(ctx)
	if err != nil {
		return contract.PauseIdleReaperResult{}, err
	}
	if !idle {
		if activity.GetInfo(ctx).Attempt > 1 { // an earlier try may have paused it
			err = a.wakeReaper(ctx)
		}
		return contract.PauseIdleReaperResult{}, err
	}
	if err := a.pauseReaper(ctx); err != nil {
		return contract.PauseIdleReaperResult{}, err
	}
	if idle, err = a.deps.Reconciler.IsIdle(ctx); err != nil || idle {
		return contract.PauseIdleReaperResult{Paused: idle}, err
	}
	return contract.PauseIdleReaperResult{}, a.wakeReaper(ctx)
}

// pauseReaper sets the flag before the pause, so that no pause is without the flag, and again after it: a task that
// started in between cleared the flag, and its resume may have come before the pause.
func (a *Activities) pauseReaper(ctx context.Context) error {
	if err := a.deps.Reconciler.SetReaperRests(ctx, true); err != nil {
		return err
	}
	for _, id := range []string{contract.ScheduleGuardian, contract.ScheduleConductor, contract.ScheduleReaper} {
		if err := a.deps.Runs.PauseSchedule(ctx, id, contract.NoteIdle); err != nil {
			return fmt.Errorf("pause %s: %w", id, err)
		}
	}
	return a.deps.Reconciler.SetReaperRests(ctx, true)
}

func (a *Activities) wakeReaper(ctx context.Context) error {
	if err := a.deps.Runs.WakeReaper(ctx); err != nil {
		return fmt.Errorf("wake reaper: %w", err)
	}
	return a.deps.Reconciler.SetReaperRests(ctx, false)
}

// again reopens listed sandboxes whose deletion was verified: a create completed after the last absence check, or a
// delete was undone. The list may be outdated, so again asks the provider for each. The next pass repeats an unknown
// answer.
func (a *Activities) again(ctx context.Context, provider string, listed []sandbox.Sandbox, orphans []contract.Orphan) ([]contract.Orphan, error) {
	labels := make(map[string]sandbox.Labels, len(listed))
	for _, box := range listed {
		labels[box.Labels.SandboxID] = box.Labels
	}
	var there []contract.Orphan
	var appeared bool
	for _, o := range orphans {
		row, err := a.deps.Ledger.LedgerSandbox(ctx, o.SandboxID)
		if task.CodeOf(err) != task.CodeNotFound && err != nil {
			return nil, fmt.Errorf("read sandbox %s: %w", o.SandboxID, err)
		}
		if err == nil && row.VerifiedAt != nil {
			if !a.takeUp(ctx, provider, labels[o.SandboxID]) {
				continue
			}
			appeared = true
		}
		there = append(there, o)
	}
	if appeared {
		return there, a.tellAgain(ctx)
	}
	return there, nil
}

// takeUp reports whether the sandbox exists, and reopens its ledger row.
func (a *Activities) takeUp(ctx context.Context, provider string, labels sandbox.Labels) bool {
	seen, err := a.inspectListed(ctx, provider, labels)
	there := err == nil && seen.State == sandbox.StateAlive
	if there {
		err = a.deps.Fleet.MarkReappeared(ctx, labels.SandboxID, seen.ProviderID, seen.CreatedAt)
	}
	if err != nil {
		a.log.WarnContext(ctx, "check for reappeared sandbox failed, retrying in the next pass", slog.String("sandbox_id", labels.SandboxID), slog.String("error", a.brief(err.Error())))
	}
	return there && err == nil
}

func (a *Activities) inspectListed(ctx context.Context, provider string, labels sandbox.Labels) (sandbox.Inspection, error) {
	p, err := a.deps.Providers.Provider(provider)
	if err != nil {
		return sandbox.Inspection{}, err
	}
	within, stop := context.WithTimeout(ctx, deletePatience)
	defer stop()
	return p.Inspect(within, labels)
}

// tellAgain raises an alert while sandboxes exist again whose deletion had been verified. It clears the alert when
// their deletion is verified again.
func (a *Activities) tellAgain(ctx context.Context) error {
	n, id, err := a.deps.Fleet.CountReappeared(ctx)
	if err != nil {
		return fmt.Errorf("count what is there again: %w", err)
	}
	text := ""
	if n > 0 {
		text = fmt.Sprintf("sandboxes that exist again after their deletion was verified: %d, for example %s. They are deleted and verified again. "+
			"If this happens repeatedly, raise the time before the second absence check, for example daytona.max_create_delay", n, id)
	}
	a.alert(ctx, "seen again", text)
	return nil
}
