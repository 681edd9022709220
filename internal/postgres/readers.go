package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/spec"
	"github.com/omoi-dev/omoi/internal/task"
)

// Trajectory returns a page of a sandbox's events without heartbeats, newest first, and a summary of the heartbeats. An
// unknown sandbox has none.
func (s *Store) Trajectory(ctx context.Context, q ingest.TrajectoryQuery) (ingest.Trajectory, error) {
	t := ingest.Trajectory{Events: []ingest.StoredEvent{}}
	counts, err := s.eventCounts(ctx, q.SandboxID)
	if err != nil {
		return t, translate("count events", err)
	}
	beats := counts.heartbeats()
	t.Total, t.Heartbeats.Count = counts.head, beats.Events
	if beats.Events > 0 {
		if err := s.heartbeatTimes(ctx, q.SandboxID, beats, &t.Heartbeats); err != nil {
			return t, err
		}
	}
	found, err := s.trajectoryRows(ctx, q, counts)
	if err != nil {
		return t, translate("read the trajectory", err)
	}
	t.Events, t.More = found.events(q.SandboxID), found.more
	if q.Newer {
		slices.Reverse(t.Events)
	}
	return t, nil
}

func (s *Store) trajectoryRows(ctx context.Context, q ingest.TrajectoryQuery, counts eventCounts) (*eventPage, error) {
	found := &eventPage{limit: q.Limit}
	if q.Newer {
		return found, s.rowsAfter(ctx, db.EventsAfterParams{SandboxID: q.SandboxID, After: q.Cursor, But: event.Types(event.Liveness)}, found)
	}
	newest := counts.head
	if q.Cursor > 0 {
		newest = min(newest, q.Cursor-1)
	}
	return found, s.rowsBefore(ctx, db.EventPageParams{SandboxID: q.SandboxID, Newest: newest, But: event.Types(event.Liveness)}, found)
}

func (s *Store) heartbeatTimes(ctx context.Context, sandboxID string, beats typeCount, h *ingest.Heartbeats) error {
	first, err := s.q.EventTime(ctx, sandboxID, beats.First)
	if err != nil {
		return translate("read the first heartbeat", err)
	}
	last, err := s.q.EventTime(ctx, sandboxID, beats.Last)
	if err != nil {
		return translate("read the last heartbeat", err)
	}
	h.First, h.Last = utc(first.CreatedAt), utc(last.CreatedAt)
	return nil
}

func utc(t time.Time) *time.Time {
	t = t.UTC()
	return &t
}

// Event returns an event with its large fields. Errors: [task.CodeNotFound] if there is none, [task.CodeGone] if
// retention removed it.
func (s *Store) Event(ctx context.Context, sandboxID string, sequence int64) (ingest.StoredEvent, error) {
	if err := s.EventsKept(ctx, sandboxID); err != nil {
		return ingest.StoredEvent{}, err
	}
	row, err := s.q.EventBySequence(ctx, sandboxID, sequence)
	e := storedEvent(sandboxID, db.EventsAfterRow(row))
	if len(e.Omitted) > 0 {
		e.Omitted = stillOmitted(e.Omitted, readObject(e.Data))
	}
	return e, missing(translate("read an event", err), "There is no event %s.", ingest.EventID(sandboxID, sequence))
}

// stillOmitted returns the omitted fields that are not part of the event any more, for example a transcript.
func stillOmitted(names []string, whole object) []string {
	return slices.DeleteFunc(names, func(name string) bool { return name == ingest.Everything || whole[name] != nil })
}

// Integrity counts a sandbox's events in one snapshot. Errors: [task.CodeNotFound] for an unknown sandbox,
// [task.CodeGone] if retention removed the events.
func (s *Store) Integrity(ctx context.Context, sandboxID string) (client.Integrity, error) {
	out := client.Integrity{SandboxID: sandboxID, Gaps: []client.Gap{}, Spools: []client.SpoolWatermark{}}
	if err := s.EventsKept(ctx, sandboxID); err != nil {
		return out, err
	}
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, s.pool, snapshot, func(tx pgx.Tx) error {
		return readIntegrity(ctx, s.q.WithTx(tx), &out)
	})
	return out, missing(translate("count events", err), "There is no sandbox %s.", sandboxID)
}

func readIntegrity(ctx context.Context, q *db.Queries, out *client.Integrity) error {
	const mostGaps = 100
	box, err := q.IntegrityHead(ctx, out.SandboxID)
	if err != nil {
		return err
	}
	stored, err := q.IntegrityStored(ctx, out.SandboxID)
	if err != nil {
		return err
	}
	gaps, err := q.IntegrityGaps(ctx, out.SandboxID, mostGaps)
	if err != nil {
		return err
	}
	spools, err := q.IntegritySpools(ctx, out.SandboxID)
	if err != nil {
		return err
	}
	out.LastSequence, out.Relayed, out.DuplicatesRejected, out.Stored = box.LastSequence, box.Relayed, box.Duplicates, stored.Stored
	for _, g := range gaps {
		out.Gaps = append(out.Gaps, client.Gap(g))
	}
	if box.SpoolID != nil {
		out.Spools = append(out.Spools, client.SpoolWatermark{SpoolID: *box.SpoolID, Acknowledged: box.SpoolWatermark})
	}
	for _, sender := range spools {
		out.Spools = append(out.Spools, client.SpoolWatermark{SpoolID: sender.SpoolID, Acknowledged: sender.Watermark})
	}
	out.Gapless = len(gaps) == 0 && stored.Stored == box.LastSequence && stored.Newest == box.LastSequence
	return nil
}

// PhaseStatus returns the progress of a spec run and the activity of its sandbox. Both are empty for an unknown
// sandbox.
func (s *Store) PhaseStatus(ctx context.Context, sandboxID string) (spec.PhaseStatus, client.Activity, error) {
	activity := client.Activity{SandboxID: sandboxID}
	phases, err := s.phases(ctx, sandboxID)
	if err != nil {
		return phases, activity, translate("read the phases", err)
	}
	row, found, err := maybe(s.q.LastActivity(ctx, sandboxID))
	if found {
		err = s.readActivity(ctx, sandboxID, row, &activity)
	}
	return phases, activity, translate("read the activity", err)
}

// phases reads the progress row, whose cost does not grow with the number of events.
func (s *Store) phases(ctx context.Context, sandboxID string) (spec.PhaseStatus, error) {
	row, found, err := maybe(s.q.SpecProgress(ctx, sandboxID))
	if !found {
		return spec.ReadPhases(sandboxID, nil, time.Time{}), err
	}
	p, err := specProgress(row)
	return spec.ReadPhases(sandboxID, p, row.Now), err
}

func specProgress(row db.SpecProgressRow) (*spec.Progress, error) {
	p := &spec.Progress{
		State: spec.State{
			SpecID: row.SpecID, Status: row.Status, CurrentPhase: row.CurrentPhase, Progress: row.Progress,
			CriteriaMet: len(readObject(row.Criteria)),
		},
		LastCompleted: task.Deref(row.LastCompleted), LastCompletedAt: task.Deref(row.LastCompletedAt).UTC(),
		Executed: row.ExecutionCompletedAt != nil, Failed: row.ExecutionFailedAt != nil,
	}
	return p, errors.Join(json.Unmarshal(row.Started, &p.Started), json.Unmarshal(row.Completed, &p.Completed))
}

// readActivity reads the last heartbeat and the last completion.
func (s *Store) readActivity(ctx context.Context, sandboxID string, row db.LastActivityRow, a *client.Activity) error {
	counts, err := s.eventCounts(ctx, sandboxID)
	if err != nil {
		return err
	}
	if beats := counts.heartbeats(); beats.Events > 0 {
		last, err := s.q.EventTime(ctx, sandboxID, beats.Last)
		if err != nil {
			return err
		}
		a.LastHeartbeatAt, a.HeartbeatStatus = utc(last.CreatedAt), orNull(last.Status)
	}
	if done := counts.types[event.AgentCompleted]; done.Events > 0 {
		last, err := s.q.EventTime(ctx, sandboxID, done.Last)
		if err != nil {
			return err
		}
		a.HasCompleted = row.LastWorkAt == nil || !last.CreatedAt.Before(*row.LastWorkAt)
	}
	judge(a, row)
	return nil
}

// judge sets the flags of an activity by the defaults of the workflow's timers.
func judge(a *client.Activity, row db.LastActivityRow) {
	const fresh, stuck = 2 * time.Minute, 15 * time.Minute
	a.IsAlive = a.LastHeartbeatAt != nil && row.Now.Sub(*a.LastHeartbeatAt) <= fresh && !row.Ended
	if row.LastWorkAt == nil {
		return
	}
	a.LastWorkAt = utc(*row.LastWorkAt)
	idle := max(row.Now.Sub(*row.LastWorkAt), 0)
	a.IdleSeconds = idle.Seconds()
	a.IsStuck = a.IsAlive && !a.HasCompleted && idle > stuck
	a.IsIdle = a.IsStuck
}
