package postgres

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/digest"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// How long a credential sleeps whose provider did not say when its limit resets, and how far apart tasks go on after it.
const (
	limitWait  = 5 * time.Minute
	limitApart = 2 * time.Second
)

// noteWall puts the credential of an attempt to sleep that its provider's limit has ended: the gate lets nobody in on it
// before the reset.
func (w *projecting) noteWall(ctx context.Context) error {
	if w.p.Ended == nil || w.p.Ended.Class != task.ClassProviderLimit || w.last == nil {
		return nil
	}
	data, err := w.q.NewestFailure(ctx, w.last.Attempt.SandboxID, event.Types(event.Failure))
	if errors.Is(err, pgx.ErrNoRows) && w.last.Attempt.AssignedAt == nil {
		return nil // no agent ever ran: it is the git host's limit
	}
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	reset, pause := digest.ResetAt(event.Read[event.End](data), time.Now()), w.cfg.Settings.LimitWait
	if err := w.tellSleep(ctx, reset, pause); err != nil {
		return err
	}
	return w.q.MetWall(ctx, db.MetWallParams{
		TaskID: w.row.ID, Attempt: int32(w.p.Ended.Number), //nolint:gosec // G115: at most task.MaxAttempts
		Reset: timeOr(reset), Pause: pause, Apart: cmp.Or(w.cfg.LimitApart, limitApart),
	})
}

// tellSleep says with the task that met a limit until when it sleeps. Its next projection takes that away.
func (w *projecting) tellSleep(ctx context.Context, reset time.Time, pause time.Duration) error {
	if w.p.Blocked != task.BlockedProviderLimit || w.queued() {
		return nil
	}
	why := task.Reason{Code: task.ReasonLimitReset, Until: &reset}
	if reset.IsZero() {
		why.Code, reset = task.ReasonLimitUnknown, time.Now().Add(pause)
	}
	return w.q.TellSleep(ctx, why.Stored(), w.row.ID)
}

// WakeSleepers runs the gate where a credential's limit may have reset, or the next task on it may go on, and asks those tasks to
// go on that sleep for a credential in whose place there is another one, or that works again.
func (s *Store) WakeSleepers(ctx context.Context) error {
	if err := s.wakeReplaced(ctx); err != nil {
		return translate("wake tasks whose credential was replaced", err)
	}
	if err := s.wakeProven(ctx); err != nil {
		return translate("wake tasks whose credential works again", err)
	}
	due, err := s.q.SleepersDue(ctx)
	if err != nil {
		return translate("look for credentials whose limit has reset", err)
	}
	for _, id := range due {
		if _, err := s.q.AdmitTasks(ctx, id); err != nil {
			return translate("run the gate of organization "+id, err)
		}
	}
	return nil
}

// wakeProven wakes the tasks of a credential on which a model has answered since it met its limit.
func (s *Store) wakeProven(ctx context.Context) error {
	if err := s.q.ProveAnswered(ctx, event.Types(event.Answered), event.Types(event.Completion)); err != nil {
		return err
	}
	return s.q.WakeProven(ctx, "its credential works again", sender)
}

// ProveCredential implements [credential.Store].
func (s *Store) ProveCredential(ctx context.Context, organizationID, id, kind string) error {
	err := s.q.ProveCredential(ctx, db.ProveCredentialParams{OrganizationID: organizationID, CredentialID: id, Kind: kind})
	return translate("end the cooldown of credential "+kind, err)
}

func (s *Store) wakeReplaced(ctx context.Context) error {
	fresh, err := s.q.FreshCredentials(ctx)
	if err != nil {
		return err
	}
	for _, org := range fresh {
		if err := s.q.WakeReplaced(ctx, db.WakeReplacedParams{Reason: "its credential was replaced", Sender: sender, OrganizationID: org}); err != nil {
			return err
		}
	}
	return nil
}
