package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// relayChannel is notified by a trigger when a relay row becomes due.
const relayChannel = "omoi_relay"

// LeaseRelays implements [ingest.RelayLeases]. The lease is a column, so that no transaction stays open during a call.
func (s *Store) LeaseRelays(ctx context.Context, owner string, limit int, p ingest.Pace) ([]ingest.Unit, error) {
	rows, err := s.q.LeaseRelays(ctx, db.LeaseRelaysParams{
		Owner: owner, Lease: p.Lease.Seconds(), Most: limit,
		Many: p.Many, Span: p.Window.Seconds(), Slow: 1 / p.Slow.Seconds(), Rate: p.Rate,
	})
	return mapAll(rows, func(row db.LeaseRelaysRow) ingest.Unit {
		return ingest.Unit{
			TaskID: row.TaskID, SandboxID: row.SandboxID, Owner: owner, Admit: row.Admit,
			Failures: row.Failures, Crashed: row.Crashed, Room: row.Room,
		}
	}), translate("lease due relay rows", err)
}

// SettleRelay implements [ingest.RelayLeases]. After a lost lease SettleRelay changes nothing, because the new owner
// settles the row.
func (s *Store) SettleRelay(ctx context.Context, u ingest.Unit, done ingest.Settled, p ingest.Pace) (again bool, err error) {
	err = s.inTx(ctx, func(q *db.Queries) error {
		if _, found, err := maybe(q.LockRelay(ctx, u.TaskID, u.Owner)); !found {
			return err
		}
		again, err = q.SettleRelay(ctx, db.SettleRelayParams{
			TaskID: u.TaskID, Failures: done.Failures, Error: done.Error,
			Pause: done.Pause.Seconds(), Hold: done.Hold.Seconds(), Told: done.Told, GrantedAt: timeOr(done.GrantedAt),
			Digest: done.Digest, Token: done.Token, Burst: p.Burst, Rate: p.Rate, Slow: 1 / p.Slow.Seconds(),
			Span: p.Window.Seconds(), Many: p.Many,
		})
		return err
	})
	return again, translate("settle the relay of task "+u.TaskID, err)
}

// EndRelayPauses implements [ingest.RelayLeases].
func (s *Store) EndRelayPauses(ctx context.Context) error {
	return translate("end the pauses of the relay", s.q.EndRelayPauses(ctx))
}

// ListenRelays implements [ingest.RelayLeases] on a connection of its own.
func (s *Store) ListenRelays(ctx context.Context, wake func()) error {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return translate("connect to listen", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+relayChannel); err != nil {
		return translate("listen", err)
	}
	for {
		wake() // also after LISTEN, because earlier notifications may be lost
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return translate("wait for a notification", err)
		}
	}
}

// SweepEvents implements [ingest.RelayLeases]. SweepEvents also ends silent unmanaged sandboxes, because the reaper can
// be paused while there are no others.
func (s *Store) SweepEvents(ctx context.Context) error {
	if err := s.q.SweepEvents(ctx); err != nil {
		return translate("sweep events that are not for the relay", err)
	}
	return translate("end silent unmanaged sandboxes", s.q.CloseBare(ctx, bareQuiet))
}

// RelayCommands implements [ingest.RelayContents].
func (s *Store) RelayCommands(ctx context.Context, taskID string) ([]ingest.RelayCommand, error) {
	const most = 20
	rows, err := s.q.RelayCommands(ctx, taskID, most)
	return mapAll(rows, func(row db.RelayCommandsRow) ingest.RelayCommand {
		return ingest.RelayCommand{
			ID: row.ID, Kind: row.Kind, Claimed: row.Claimed, Checkpoint: row.Checkpoint, Final: task.Status(row.Status).Final(),
			At: row.CreatedAt, Trace: row.Trace, Title: row.Key + " " + titleOf(db.Task{Title: row.Title, Description: row.Description}),
		}
	}), translate("read the commands of task "+taskID, err)
}

// CommandSent implements [ingest.RelayContents].
func (s *Store) CommandSent(ctx context.Context, id string) error {
	return translate("record that command "+id+" is sent", s.q.CommandSent(ctx, id))
}

// CommandOver implements [ingest.RelayContents].
func (s *Store) CommandOver(ctx context.Context, id, state, reason string) error {
	err := s.q.CommandOver(ctx, db.CommandOverParams{ID: id, State: state, Reason: reason})
	return translate("settle command "+id, err)
}

// StartRefused implements [ingest.RelayContents].
func (s *Store) StartRefused(ctx context.Context, taskID, commandID, reason string) error {
	return s.writeOff(ctx, taskID, writeOff{
		class: task.ClassInfrastructure, reason: reason, late: reason,
		settle: func(q *db.Queries) error {
			return q.CommandOver(ctx, db.CommandOverParams{ID: commandID, State: string(task.ReceiptRefused), Reason: reason})
		},
	})
}

// RunEnded implements [ingest.RelayContents].
func (s *Store) RunEnded(ctx context.Context, taskID string, c ingest.RelayCommand) error {
	return s.writeOff(ctx, taskID, writeOff{
		class: task.ClassTerminated, reason: "The workflow was terminated.",
		late: "its workflow was terminated; the task is written off as failed (terminated)",
		more: func(q *db.Queries) error {
			if err := resendRetries(ctx, q, taskID); err != nil || c.Kind == contract.CommandRetry {
				return err
			}
			return q.CommandOver(ctx, db.CommandOverParams{ID: c.ID, State: string(task.ReceiptTooLate), Reason: "the task had ended"})
		},
	})
}

// LeftSandboxes implements [ingest.RelayContents].
func (s *Store) LeftSandboxes(ctx context.Context, taskID string, wait time.Duration) ([]ingest.LeftSandbox, error) {
	rows, err := s.q.LeftSandboxes(ctx, wait, taskID)
	return mapAll(rows, func(r db.LeftSandboxesRow) ingest.LeftSandbox {
		return ingest.LeftSandbox{CleanupInput: orphan(r.ID, taskID, r.Number, "its attempt is over").CleanupInput, Recent: r.Recent}
	}), translate("list sandboxes of ended attempts of task "+taskID, err)
}

// EndReaperRest implements [ingest.RelayContents].
func (s *Store) EndReaperRest(ctx context.Context) (rested bool, err error) {
	rows, err := s.q.EndReaperRest(ctx)
	return rows > 0, translate("end the reaper's pause", err)
}

// SlotGranted implements [ingest.RelayContents].
func (s *Store) SlotGranted(ctx context.Context, taskID string) (at time.Time, held bool, err error) {
	at, held, err = maybe(s.q.SlotGranted(ctx, taskID))
	return at, held, translate("read the slot of task "+taskID, err)
}

// TakeDigest implements [ingest.RelayContents]. The events of the digest are no longer due; later events become due on
// their own.
func (s *Store) TakeDigest(ctx context.Context, u ingest.Unit) (due ingest.DueDigest, ok bool, err error) {
	if u.Crashed {
		if err := s.q.RecallEvents(ctx, u.SandboxID); err != nil {
			return due, false, translate("make events due again for sandbox "+u.SandboxID, err)
		}
	}
	row, found, err := maybe(s.q.TakeEvents(ctx, u.SandboxID))
	if !found || row.LastSequence == row.Relayed {
		return due, false, translate("take due events of sandbox "+u.SandboxID, err)
	}
	built, taskID, err := s.buildFacts(ctx, contract.LoadEventsInput{SandboxID: u.SandboxID, After: row.Relayed})
	if err != nil {
		return due, false, translate("read events of sandbox "+u.SandboxID, err)
	}
	due = ingest.DueDigest{Digest: built.Digest, Types: built.Types}
	return due, true, s.SaveErrors(ctx, taskID, built.Errors)
}

// DigestSent implements [ingest.RelayContents]. If another relay has advanced already, DigestSent changes nothing.
func (s *Store) DigestSent(ctx context.Context, d ingest.DueDigest) error {
	err := s.q.MoveRelayed(ctx, db.MoveRelayedParams{
		ID: d.SandboxID, Before: d.From - 1, Until: d.To, Counters: jsonOf(d.Types),
	})
	return translate("record the relayed events of sandbox "+d.SandboxID, err)
}

// DigestFailed implements [ingest.RelayContents].
func (s *Store) DigestFailed(ctx context.Context, sandboxID string, pause time.Duration) error {
	return translate("make events due again for sandbox "+sandboxID, s.q.PutEventsBack(ctx, pause.Seconds(), sandboxID))
}

// timeOr returns a pointer to the time, or nil for zero.
func timeOr(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}
