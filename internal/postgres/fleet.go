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

// Installation answers the id of this installation: the label of every sandbox of ours. The
// first call makes it.
func (s *Store) Installation(ctx context.Context) (string, error) {
	if id, found, err := maybe(s.q.InstallationID(ctx)); found || err != nil {
		return id, translate("read the installation's id", err)
	}
	if err := s.q.MakeInstallation(ctx, task.NewSandboxID()); err != nil {
		return "", translate("make the installation's id", err)
	}
	id, err := s.q.InstallationID(ctx)
	return id, translate("read the installation's id", err)
}

// TokenKey answers the print of the key that signs the tokens of this installation's sandboxes;
// zero if none was noted.
func (s *Store) TokenKey(ctx context.Context) (token.Print, error) {
	if _, err := s.Installation(ctx); err != nil {
		return token.Print{}, err
	}
	row, err := s.q.TokenKey(ctx)
	return token.Print{KeyID: row.TokenKeyID, Hash: row.TokenKeyPrint}, translate("read which key signs tokens", err)
}

// SetTokenKey notes another key in the place of was. It reports whether was stood there.
func (s *Store) SetTokenKey(ctx context.Context, was, now token.Print) (bool, error) {
	n, err := s.q.SetTokenKey(ctx, db.SetTokenKeyParams{ID: now.KeyID, Fingerprint: now.Hash, Was: was.Hash})
	return n > 0, translate("note which key signs tokens", err)
}

// Targets are the providers of every machine that reported lately, and the shared providers
// of which something may be alive.
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

// LedgerOrphans are the rows, a thousand at most, that are not at their end though their
// attempt has been over for grace. Lost and bare rows are nobody's to clean.
func (s *Store) LedgerOrphans(ctx context.Context, grace time.Duration) ([]contract.Orphan, error) {
	rows, err := s.q.LedgerOrphans(ctx, grace)
	return mapAll(rows, func(r db.LedgerOrphansRow) contract.Orphan {
		return orphan(r.ID, r.TaskID, r.Attempt, "its attempt is over")
	}), translate("look for orphans in the ledger", err)
}

// Unowned answers which of the listed sandboxes serve no live attempt for grace. One that
// the ledger does not know is judged by the age that its provider tells; without one it is old.
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
	}), translate("look for owners of sandboxes", err)
}

// Leftovers are the sandboxes that a task has left, and nobody has seen to be gone.
func (s *Store) Leftovers(ctx context.Context, taskID string) ([]contract.Orphan, error) {
	left, err := s.LeftSandboxes(ctx, taskID, 0)
	return mapAll(left, func(one ingest.LeftSandbox) contract.Orphan { return contract.Orphan{CleanupInput: one.CleanupInput} }), err
}

func orphan(id, taskID string, attempt int, reason string) contract.Orphan {
	return contract.Orphan{CleanupInput: contract.CleanupInput{
		SandboxID: id, TaskID: taskID, Attempt: attempt, Reason: reason,
	}}
}

// OpenTasks lists the tasks that are not final, hold a run, and were last written longer than
// age ago, and those whose start or retry was sent longer than age ago and never taken up;
// the oldest first.
func (s *Store) OpenTasks(ctx context.Context, age time.Duration) ([]string, error) {
	ids, err := s.q.OpenTasks(ctx, age)
	return ids, translate("list open tasks", err)
}

// writeOff says how a task ends that no run will end.
type writeOff struct {
	class  task.FailureClass
	reason string // of the task
	late   string // of what was asked of it
	// settle is done first, in the same transaction and with the task locked; nil: nothing.
	settle func(*db.Queries) error
	// more is done last; nil: nothing.
	more func(*db.Queries) error
}

// Abandon writes off a task whose workflow is closed: failed, its slot free, its attempts
// ended, what was asked of it too late. A task that is final stays as it is. Retries that no
// run has taken up are due again.
func (s *Store) Abandon(ctx context.Context, taskID, reason string) error {
	return s.writeOff(ctx, taskID, writeOff{
		class: task.ClassTerminated, reason: reason, late: "The task's workflow was terminated.",
		more: func(q *db.Queries) error { return resendRetries(ctx, q, taskID) },
	})
}

// RunLoaded reports whether the task is not final and a run has loaded it: if that run is closed,
// nobody will end the task.
func (s *Store) RunLoaded(ctx context.Context, taskID string) (bool, error) {
	loaded, err := s.q.RunLoaded(ctx, taskID)
	return loaded, translate("look whether a run has task "+taskID, err)
}

// writeOff writes a task off unless it is final.
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

// resendRetries lets the relay send again what was told to a run that will not hear it.
func resendRetries(ctx context.Context, q *db.Queries, taskID string) error {
	if err := q.ResendRetries(ctx, taskID); err != nil {
		return err
	}
	if open, err := q.HasUnsent(ctx, taskID); err != nil || !open {
		return err
	}
	return q.MakeRelayDue(ctx, taskID)
}

// Grant runs admission for every organization, makes the partitions that are missing, and notes
// that the reaper, which alone calls it, came this far.
func (s *Store) Grant(ctx context.Context) error {
	if err := s.admitAllOrganizations(ctx); err != nil {
		return err
	}
	if err := s.q.MakePartitions(ctx); err != nil {
		return translate("make the partitions of events", err)
	}
	return translate("note the reaper's run", s.q.ReaperRan(ctx))
}

// IsIdle reports whether every task is final, every sandbox has ended, and none can appear any more.
func (s *Store) IsIdle(ctx context.Context) (bool, error) {
	idle, err := s.q.IsIdle(ctx)
	return idle, translate("check whether the installation is idle", err)
}

// SetReaperRests notes whether the reaper's schedule is paused, or about to be.
func (s *Store) SetReaperRests(ctx context.Context, rests bool) error {
	return translate("note the reaper's rest", s.q.SetReaperRests(ctx, rests))
}

// maybe returns a row that may be missing, and whether it was found.
func maybe[T any](row T, err error) (_ T, found bool, _ error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return row, false, nil
	}
	return row, err == nil, err
}

// oneRow turns an update that hit nothing into "not found".
func oneRow(rows int64, err error) error {
	if err == nil && rows == 0 {
		return pgx.ErrNoRows
	}
	return err
}
