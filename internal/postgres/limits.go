package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// How long a credential sleeps whose provider did not say when its limit resets, and how far apart tasks go on after it.
const (
	limitSleep = 5 * time.Minute
	limitApart = 2 * time.Second
)

// maxReset is longer than any limit of a provider lasts.
const maxReset = 31 * 24 * time.Hour

// believed is when a limit resets by what an agent says; zero: it says nothing that can be.
func believed(said json.RawMessage, now time.Time) time.Time {
	reset := readTime(said)
	if reset.Sub(now) > maxReset {
		return time.Time{}
	}
	return reset
}

// noteWall puts the credential of an attempt to sleep that its provider's limit has ended: the gate lets nobody in on it
// before the reset.
func (w *projecting) noteWall(ctx context.Context) error {
	if w.p.Ended == nil || w.p.Ended.Class != task.ClassProviderLimit || w.last == nil {
		return nil
	}
	data, err := w.q.NewestFailure(ctx, w.last.Attempt.SandboxID)
	if errors.Is(err, pgx.ErrNoRows) && w.last.Attempt.AssignedAt == nil {
		return nil // no agent ever ran: it is the git host's limit
	}
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	return w.q.MetWall(ctx, db.MetWallParams{
		TaskID: w.row.ID, Attempt: int32(w.p.Ended.Number), //nolint:gosec // G115: at most task.MaxAttempts
		Reset: timeOr(believed(readMilestone(data).ResetAt, time.Now())),
		Pause: cmp.Or(w.cfg.Settings.LimitSleep, limitSleep), Apart: cmp.Or(w.cfg.LimitApart, limitApart),
	})
}

// WakeSleepers runs the gate where a credential's limit may have reset, or the next task on it may go on.
func (s *Store) WakeSleepers(ctx context.Context) error {
	due, err := s.q.SleepersDue(ctx)
	if err != nil {
		return translate("look for credentials whose limit has reset", err)
	}
	for _, id := range due {
		if _, err := s.q.RunGate(ctx, id); err != nil {
			return translate("run the gate of organization "+id, err)
		}
	}
	return nil
}
