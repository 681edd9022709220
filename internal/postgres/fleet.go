package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// Installation returns the ID of this installation, which labels its sandboxes. The first call creates the ID.
func (s *Store) Installation(ctx context.Context) (string, error) {
	if id, found, err := maybe(s.q.InstallationID(ctx)); found || err != nil {
		return id, translate("read the installation's ID", err)
	}
	if err := s.q.MakeInstallation(ctx, task.NewSandboxID()); err != nil {
		return "", translate("create the installation's ID", err)
	}
	id, err := s.q.InstallationID(ctx)
	return id, translate("read the installation's ID", err)
}

// TokenKey returns the print of the key that signs sandbox tokens; zero if none is recorded.
func (s *Store) TokenKey(ctx context.Context) (token.Print, error) {
	if _, err := s.Installation(ctx); err != nil {
		return token.Print{}, err
	}
	row, err := s.q.TokenKey(ctx)
	return token.Print{KeyID: row.TokenKeyID, Hash: row.TokenKeyPrint}, translate("read the token key", err)
}

// SetTokenKey replaces the recorded key by now, if the recorded key is was, and reports whether it did.
func (s *Store) SetTokenKey(ctx context.Context, was, now token.Print) (bool, error) {
	n, err := s.q.SetTokenKey(ctx, db.SetTokenKeyParams{ID: now.KeyID, Fingerprint: now.Hash, Was: was.Hash})
	return n > 0, translate("record the token key", err)
}

// Targets returns the host-bound providers of all hosts with a recent heartbeat, and the shared providers that may have
// sandboxes.
func (s *Store) Targets(ctx context.Context) ([]contract.ReaperTarget, error) {
	hosts, err := s.q.LiveHosts(ctx, s.cfg.HostFresh)
	if err != nil {
		return nil, translate("list hosts", err)
	}
	var targets []contract.ReaperTarget
	for _, h := range hosts {
		for _, p := range h.Providers {
			if task.ProviderOf(p).HostBound {
				targets = append(targets, contract.ReaperTarget{Provider: p, Queue: contract.QueueHost(h.ID)})
			}
		}
	}
	shared, err := s.q.SharedProviders(ctx)
	for _, p := range shared {
		targets = append(targets, contract.ReaperTarget{Provider: p, Queue: contract.QueueSandboxes})
	}
	return targets, translate("list shared providers", err)
}

// LedgerOrphans returns up to 1,000 sandboxes whose attempt ended longer than grace ago and whose deletion is not
// verified. Without an attempt, the age of the sandbox counts. Lost and unmanaged sandboxes are excluded.
func (s *Store) LedgerOrphans(ctx context.Context, grace time.Duration) ([]contract.Orphan, error) {
	rows, err := s.q.LedgerOrphans(ctx, grace)
	return mapAll(rows, func(r db.LedgerOrphansRow) contract.Orphan {
		return orphan(r.ID, r.TaskID, r.Attempt, "its attempt is over")
	}), translate("list orphans in the ledger", err)
}

// Unowned returns the listed sandboxes without a running attempt for at least grace. For a sandbox that is not in the
// ledger, the age from its provider counts; a sandbox without an age counts as old.
func (s *Store) Unowned(ctx context.Context, listed []sandbox.Sandbox, grace time.Duration) ([]contract.Orphan, error) {
	params := db.UnownedSandboxesParams{Grace: grace}
	for _, box := range listed {
		params.Ids = append(params.Ids, box.Labels.SandboxID)
		params.Created = append(params.Created, box.CreatedAt)
	}
	rows, err := s.q.UnownedSandboxes(ctx, params)
	return mapAll(rows, func(r db.UnownedSandboxesRow) contract.Orphan {
		if !r.Known {
			return orphan(r.ID, r.TaskID, r.Attempt, "the ledger does not know it")
		}
		return orphan(r.ID, r.TaskID, r.Attempt, "its attempt is over")
	}), translate("find the attempts of sandboxes", err)
}

// Leftovers returns the sandboxes of a task's ended attempts that may still exist.
func (s *Store) Leftovers(ctx context.Context, taskID string) ([]contract.Orphan, error) {
	left, err := s.LeftSandboxes(ctx, taskID, 0)
	return mapAll(left, func(one ingest.LeftSandbox) contract.Orphan { return contract.Orphan{CleanupInput: one.CleanupInput} }), err
}

func orphan(id, taskID string, attempt int, reason string) contract.Orphan {
	return contract.Orphan{CleanupInput: contract.CleanupInput{
		SandboxID: id, TaskID: taskID, Attempt: attempt, Reason: reason,
	}}
}

// OpenTasks lists tasks that need a check, oldest first: tasks that are not final, have a run and were last written
// longer than age ago, and tasks whose start or retry was sent longer than age ago and not loaded.
func (s *Store) OpenTasks(ctx context.Context, age time.Duration) ([]string, error) {
	ids, err := s.q.OpenTasks(ctx, age)
	return ids, translate("list open tasks", err)
}

// writeOff describes how to end a task that no run will end.
type writeOff struct {
	class  task.FailureClass
	reason string // error message of the task
	late   string // reason of its commands that are too late
	// settle runs first, in the same transaction and with the task locked; nil: nothing to do.
	settle func(*db.Queries) error
	// more runs last; nil: nothing to do.
	more func(*db.Queries) error
}

// Abandon ends a task whose workflow is closed: status failed, slot released, attempts ended, commands too late. A
// final task stays unchanged. Retries that no run has loaded become due again.
func (s *Store) Abandon(ctx context.Context, taskID, reason string) error {
	return s.writeOff(ctx, taskID, writeOff{
		class: task.ClassTerminated, reason: reason, late: "The task's workflow was terminated.",
		more: func(q *db.Queries) error { return resendRetries(ctx, q, taskID) },
	})
}

// RunLoaded reports whether the task is not final and a run has loaded it. If that run is closed, no run will end the
// task.
func (s *Store) RunLoaded(ctx context.Context, taskID string) (bool, error) {
	loaded, err := s.q.RunLoaded(ctx, taskID)
	return loaded, translate("read whether a run has loaded task "+taskID, err)
}

// writeOff ends a task unless it is final.
func (s *Store) writeOff(ctx context.Context, taskID string, off writeOff) error {
	ended := false
	err := s.inTx(ctx, func(q *db.Queries) (err error) {
		ended, err = off.write(ctx, q, taskID)
		if err == nil && off.more != nil {
			err = off.more(q)
		}
		return err
	})
	if err == nil && ended {
		s.cfg.taskEnded(ctx, taskID, task.StatusFailed, off.class)
	}
	return translate("write off task "+taskID, err)
}

func (off writeOff) write(ctx context.Context, q *db.Queries, taskID string) (ended bool, err error) {
	found, err := q.TaskForUpdate(ctx, taskID)
	if err == nil && off.settle != nil {
		err = off.settle(q)
	}
	if err != nil || task.Status(found.Task.Status).Final() {
		return false, err
	}
	why := task.Reason{}
	if off.class == task.ClassTerminated {
		why.Code = task.ReasonTerminated
	}
	if err := q.AbandonTask(ctx, db.AbandonTaskParams{
		FailureClass: string(off.class), Reason: new(storable(off.reason)), EndReason: why.Stored(), ID: taskID,
	}); err != nil {
		return false, err
	}
	if err := q.ReleaseSlot(ctx, taskID); err != nil {
		return false, err
	}
	if err := q.CloseCommands(ctx, off.late, taskID); err != nil {
		return false, err
	}
	if err := closeQuestion(ctx, q, taskID, task.StatusFailed); err != nil {
		return false, err
	}
	if err := q.PointRelay(ctx, taskID, nil); err != nil {
		return false, err
	}
	if err := q.EndOpenAttempts(ctx, db.EndOpenAttemptsParams{
		TaskID: taskID, FailureClass: string(off.class), Reason: storable(off.reason), EndReason: why.Stored(),
	}); err != nil {
		return false, err
	}
	return true, admit(ctx, q, found.Task.OrganizationID, found.Task.ProjectID)
}

// resendRetries makes retries due again that were sent to a closed run.
func resendRetries(ctx context.Context, q *db.Queries, taskID string) error {
	if err := q.ResendRetries(ctx, taskID); err != nil {
		return err
	}
	if open, err := q.HasUnsent(ctx, taskID); err != nil || !open {
		return err
	}
	return q.MakeRelayDue(ctx, taskID)
}

// Grant runs admission for all organizations, creates missing partitions, and records the pass of the reaper, its only
// caller.
func (s *Store) Grant(ctx context.Context) error {
	if err := s.admitAllOrganizations(ctx); err != nil {
		return err
	}
	if err := s.q.MakePartitions(ctx); err != nil {
		return translate("create the partitions of events", err)
	}
	return translate("record the reaper's pass", s.q.ReaperRan(ctx))
}

// IsIdle reports whether every task is final, every sandbox has ended, and no sandbox can still appear.
func (s *Store) IsIdle(ctx context.Context) (bool, error) {
	idle, err := s.q.IsIdle(ctx)
	return idle, translate("check whether the installation is idle", err)
}

// SetReaperRests records whether the reaper's schedule is paused or about to be.
func (s *Store) SetReaperRests(ctx context.Context, rests bool) error {
	return translate("record the reaper's pause", s.q.SetReaperRests(ctx, rests))
}

// maybe returns a row that can be missing, and whether it was found.
func maybe[T any](row T, err error) (_ T, found bool, _ error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return row, false, nil
	}
	return row, err == nil, err
}

// oneRow returns [pgx.ErrNoRows] for an update without rows.
func oneRow(rows int64, err error) error {
	if err == nil && rows == 0 {
		return pgx.ErrNoRows
	}
	return err
}
