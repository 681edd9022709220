package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// waitForRoom is the delay after which a task without room for its sandbox tries again.
const waitForRoom = 5 * time.Second

// leastUnverified is the minimum of the default limit of unverified sandboxes.
const leastUnverified = 20

// beginning is one BeginAttempt in its transaction.
type beginning struct {
	q     *db.Queries
	cfg   Config
	in    contract.BeginAttemptInput
	runID string
	row   db.Task
	wrote bool // a new attempt was written
}

// BeginAttempt writes the intent of a new sandbox: attempt, ledger row, host. The same run and ordinal return the same
// attempt. The result has Wait if there is no room, or while the sandbox of an earlier attempt may still run, and
// Fenced if another run owns the task. After [task.MaxAttempts] attempts BeginAttempt returns [task.CodeConflict],
// which is not retried.
func (s *Store) BeginAttempt(ctx context.Context, in contract.BeginAttemptInput, runID string) (contract.BeginAttemptResult, error) {
	installation, err := s.Installation(ctx)
	if err != nil {
		return contract.BeginAttemptResult{}, err
	}
	var b beginning
	out, err := txResult(ctx, s, func(q *db.Queries) (contract.BeginAttemptResult, error) {
		b = beginning{q: q, cfg: s.cfg, in: in, runID: runID}
		return b.begin(ctx, installation)
	})
	if err == nil && b.wrote {
		s.cfg.Counter.AttemptBegun(in.Kind)
	}
	return out, translate("begin an attempt of task "+in.TaskID, err)
}

func (b *beginning) begin(ctx context.Context, installation string) (contract.BeginAttemptResult, error) {
	current, err := b.q.TaskForUpdate(ctx, b.in.TaskID)
	if err != nil {
		return contract.BeginAttemptResult{}, err
	}
	b.row = current.Task
	if b.row.RunID != b.runID {
		return contract.BeginAttemptResult{Fenced: true}, nil
	}
	known, found, err := maybe(b.q.AttemptOf(ctx, db.AttemptOfParams{TaskID: b.row.ID, RunID: b.runID, Ordinal: b.in.Ordinal}))
	if found || err != nil {
		return contract.BeginAttemptResult{LiveAttempt: *liveAttempt(known.Attempt, known.Sandbox)}, err
	}
	if b.in.Ordinal <= b.row.Ordinal { // late duplicate of a lost workflow task
		return contract.BeginAttemptResult{Fenced: true}, nil
	}
	if b.row.AttemptCount >= task.MaxAttempts {
		return contract.BeginAttemptResult{}, task.Errorf(task.CodeConflict,
			"The task reached the limit of %d attempts, validators included. Its branch is kept. Next: omoi run creates another task", task.MaxAttempts)
	}
	if err := b.endOthers(ctx); err != nil {
		return contract.BeginAttemptResult{}, err
	}
	return b.place(ctx, installation)
}

// place finds room for a sandbox and writes the intent.
func (b *beginning) place(ctx context.Context, installation string) (contract.BeginAttemptResult, error) {
	for _, mayWait := range []func(context.Context) (task.Reason, error){b.earlier, b.tooManyUnverified} {
		if reason, err := mayWait(ctx); err != nil || reason.Code != "" {
			return b.wait(ctx, reason, err)
		}
	}
	host, reason, err := b.host(ctx)
	if err != nil || reason.Code != "" {
		return b.wait(ctx, reason, err)
	}
	spec := task.ProviderOf(b.row.Provider)
	box := db.InsertSandboxParams{
		ID: task.NewSandboxID(), OrganizationID: &b.row.OrganizationID, TaskID: &b.row.ID,
		Attempt: new(b.row.AttemptCount + 1), Provider: spec.Name, HostBound: spec.HostBound, Machine: spec.Machine, HostID: orNull(host),
	}
	if err := b.write(ctx, box, installation); err != nil {
		return contract.BeginAttemptResult{}, err
	}
	b.wrote = true
	return contract.BeginAttemptResult{LiveAttempt: contract.LiveAttempt{
		Number: *box.Attempt, SandboxID: box.ID, Provider: box.Provider, Queue: contract.QueueOf(spec.Capabilities, host),
		Validates: b.in.Kind == task.KindValidation,
	}}, nil
}

// wait records why there is no room.
func (b *beginning) wait(ctx context.Context, reason task.Reason, err error) (contract.BeginAttemptResult, error) {
	if err == nil {
		err = b.q.WaitFor(ctx, reason.Stored(), b.row.ID)
	}
	return contract.BeginAttemptResult{Wait: waitForRoom, Reason: string(reason.Code)}, err
}

func (b *beginning) write(ctx context.Context, box db.InsertSandboxParams, installation string) error {
	box.Labels = jsonOf(sandbox.Labels{
		Installation: installation, TaskID: b.row.ID, Attempt: *box.Attempt, SandboxID: box.ID,
	})
	if err := b.q.InsertSandbox(ctx, box); err != nil {
		return err
	}
	chosen, err := chooseCredential(ctx, b.q, b.row)
	if err != nil {
		return err
	}
	if err := b.q.InsertAttempt(ctx, db.InsertAttemptParams{
		TaskID: b.row.ID, Number: *box.Attempt, SandboxID: box.ID, Kind: b.in.Kind, RunID: b.runID,
		Ordinal: b.in.Ordinal, FeedbackID: orNull(b.in.FeedbackID), Credential: chosen.Name, Takeover: takeoverOf(chosen), RestoreFrom: b.in.Checkpoint,
	}); err != nil {
		return err
	}
	if err := b.q.CountAttempt(ctx, db.CountAttemptParams{Number: *box.Attempt, Kind: b.in.Kind, ID: b.row.ID}); err != nil {
		return err
	}
	return b.q.PointRelay(ctx, b.row.ID, &box.ID)
}

func takeoverOf(c credential.Choice) json.RawMessage {
	if c.Instead == nil {
		return nil
	}
	return jsonOf(c.Instead)
}

// earlier returns the reason to wait while the sandbox of an earlier attempt may still run. The workflow has waited for
// its deletion, unless the workflow was reset, or another workflow cleans up the sandbox.
func (b *beginning) earlier(ctx context.Context) (task.Reason, error) {
	bound := b.cfg.Settings.CleanupWait
	left, err := b.q.LeftSandboxes(ctx, bound, b.row.ID)
	for _, box := range left {
		if box.Recent {
			return task.Reason{Code: task.ReasonEarlierSandbox, Attempt: box.Number, Seconds: bound.Seconds()}, nil
		}
	}
	return task.Reason{}, err
}

// tooManyUnverified returns the reason to wait if too many sandboxes of the provider may still exist after their
// attempts.
func (b *beginning) tooManyUnverified(ctx context.Context) (task.Reason, error) {
	if !task.ProviderOf(b.row.Provider).Machine {
		return task.Reason{}, nil
	}
	n, err := b.q.Unverified(ctx, b.row.Provider)
	if err != nil {
		return task.Reason{}, err
	}
	limit := int64(b.cfg.MaxUnverified)
	if limit == 0 {
		limit = max(n.Slots, leastUnverified)
	}
	if n.Unverified < limit {
		return task.Reason{}, nil
	}
	hosts, err := b.q.UnverifiedByHost(ctx, b.cfg.HostFresh, b.row.Provider)
	return task.Reason{
		Code: task.ReasonUnverifiedLimit, Provider: b.row.Provider, Used: float64(n.Unverified), Limit: float64(limit),
		Hosts: mapAll(hosts, func(r db.UnverifiedByHostRow) task.HostReason {
			return task.HostReason{Name: nameOf(r.ID, r.Name), Sandboxes: int(r.Unverified), Online: r.Beats}
		}),
	}, err
}

// host chooses a host for a host-bound provider, or returns why no host is available.
func (b *beginning) host(ctx context.Context) (id string, reason task.Reason, err error) {
	if !task.ProviderOf(b.row.Provider).HostBound {
		return "", reason, nil
	}
	if err := b.q.LockHosts(ctx); err != nil {
		return "", reason, err
	}
	id, found, err := maybe(b.q.ChooseHost(ctx, b.cfg.HostFresh, b.row.Provider))
	if found || err != nil {
		return id, reason, err
	}
	n, err := b.q.HostsOffering(ctx, b.cfg.HostFresh, b.row.Provider)
	reason = task.Reason{Code: task.ReasonHostsFull, Provider: b.row.Provider, Limit: float64(n)}
	if n == 0 {
		reason.Code = task.ReasonNoHost
	}
	return "", reason, err
}

func liveAttempt(a db.Attempt, box db.Sandbox) *contract.LiveAttempt {
	return &contract.LiveAttempt{
		Number: a.Number, SandboxID: a.SandboxID, Provider: box.Provider,
		Queue: contract.QueueOf(task.ProviderOf(box.Provider).Capabilities, task.Deref(box.HostID)), LastSequence: box.LastSequence, Assigned: a.AssignedAt != nil,
		Pulled: box.Transport == task.TransportPull, Validates: validates(a),
	}
}

// RanOut counts the attempts of a task before a number that failed for lack of memory or disk.
func (s *Store) RanOut(ctx context.Context, taskID string, before int) (int, error) {
	n, err := s.q.RanOut(ctx, db.RanOutParams{TaskID: taskID, Before: before, FailureClass: string(task.ClassResources)})
	return int(n), translate("count failures for lack of resources of task "+taskID, err)
}

// openEnd returns the end of open attempts as an infrastructure failure.
func openEnd(taskID string, code task.ReasonCode) db.EndOpenAttemptsParams {
	why := task.Reason{Code: code}
	return db.EndOpenAttemptsParams{
		TaskID: taskID, FailureClass: string(task.ClassInfrastructure), Reason: explain.Reason(why), EndReason: why.Stored(),
	}
}

// endOthers ends the open attempts of earlier runs. A task never has two open attempts, and the sandboxes of ended ones
// are cleaned up.
func (b *beginning) endOthers(ctx context.Context) error {
	return b.q.EndOpenAttempts(ctx, openEnd(b.row.ID, task.ReasonReset))
}

// endOthers ends the open attempts of a task that becomes final.
func (w *projecting) endOthers(ctx context.Context) error {
	if !w.p.Status.Final() {
		return nil
	}
	return w.q.EndOpenAttempts(ctx, openEnd(w.row.ID, task.ReasonTaskEnded))
}

// EndStrays ends open attempts whose task is final or has a later attempt, so that their sandboxes are cleaned up. In
// normal operation no such attempts exist.
func (s *Store) EndStrays(ctx context.Context) error {
	over, reset := openEnd("", task.ReasonTaskEnded), openEnd("", task.ReasonReset)
	return translate("end stray attempts", s.q.EndStrayAttempts(ctx, db.EndStrayAttemptsParams{
		FailureClass: over.FailureClass, AtEnd: over.Reason, ByReset: reset.Reason,
		AtEndReason: json.RawMessage(over.EndReason), ByResetReason: json.RawMessage(reset.EndReason),
	}))
}
