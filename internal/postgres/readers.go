package postgres

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// Trajectory answers a page of a sandbox's events without its heartbeats, newest first,
// and what its heartbeats amount to. An unknown sandbox has none.
func (s *Store) Trajectory(ctx context.Context, q ingest.TrajectoryQuery) (ingest.Trajectory, error) {
	t := ingest.Trajectory{Events: []ingest.StoredEvent{}}
	totals, err := s.q.HeartbeatTotals(ctx, q.SandboxID)
	if errors.Is(err, pgx.ErrNoRows) {
		return t, nil
	}
	if err != nil {
		return t, translate("count heartbeats", err)
	}
	t.Total, t.Heartbeats.Count = totals.Head, totals.Beats
	if totals.Beats > 0 {
		if err := s.heartbeatTimes(ctx, q.SandboxID, &t.Heartbeats); err != nil {
			return t, err
		}
	}
	rows, err := s.trajectoryRows(ctx, q)
	if err != nil {
		return t, translate("read the trajectory", err)
	}
	if t.More = len(rows) > q.Limit; t.More {
		rows = rows[:q.Limit]
	}
	for _, row := range rows {
		t.Events = append(t.Events, storedEvent(q.SandboxID, row))
	}
	if q.Newer {
		slices.Reverse(t.Events)
	}
	return t, nil
}

// trajectoryRows reads one row more than asked for, to know whether there is more.
func (s *Store) trajectoryRows(ctx context.Context, q ingest.TrajectoryQuery) ([]db.EventsAfterRow, error) {
	limit := int32(q.Limit) + 1 //nolint:gosec // G115: small by the API's bounds
	if q.Newer {
		rows, err := s.q.TrajectoryAfter(ctx, db.TrajectoryAfterParams{SandboxID: q.SandboxID, After: q.Cursor, PageLimit: limit})
		return mapAll(rows, func(r db.TrajectoryAfterRow) db.EventsAfterRow { return db.EventsAfterRow(r) }), err
	}
	before := orDefault(q.Cursor, math.MaxInt64)
	rows, err := s.q.TrajectoryBefore(ctx, db.TrajectoryBeforeParams{SandboxID: q.SandboxID, Before: before, PageLimit: limit})
	return mapAll(rows, func(r db.TrajectoryBeforeRow) db.EventsAfterRow { return db.EventsAfterRow(r) }), err
}

func (s *Store) heartbeatTimes(ctx context.Context, sandboxID string, h *ingest.Heartbeats) error {
	first, err := s.q.FirstHeartbeat(ctx, sandboxID)
	if err != nil {
		return translate("read the first heartbeat", err)
	}
	last, err := s.q.LastHeartbeat(ctx, sandboxID)
	if err != nil {
		return translate("read the last heartbeat", err)
	}
	h.First, h.Last = utc(first), utc(last.CreatedAt)
	return nil
}

func utc(t time.Time) *time.Time {
	t = t.UTC()
	return &t
}

// Event answers one event whole; [task.CodeNotFound] if there is none of that number.
func (s *Store) Event(ctx context.Context, sandboxID string, sequence int64) (ingest.StoredEvent, error) {
	row, err := s.q.EventBySequence(ctx, sandboxID, sequence)
	return storedEvent(sandboxID, db.EventsAfterRow(row)),
		missing(translate("read an event", err), "There is no event %s.", ingest.EventID(sandboxID, sequence))
}

// ChangedFiles answers what the agent said of edited files beyond an event number, at most
// limit edits. An unknown sandbox has none.
func (s *Store) ChangedFiles(ctx context.Context, sandboxID string, after int64, limit int) (task.ChangedFiles, error) {
	out := task.ChangedFiles{SandboxID: sandboxID, Files: []task.ChangedFile{}}
	rows, err := s.q.FileEdits(ctx, db.FileEditsParams{
		SandboxID: sandboxID, After: after, PageLimit: int32(limit) + 1, //nolint:gosec // G115: small by the API's bounds
	})
	if err != nil {
		return out, translate("read file edits", err)
	}
	if len(rows) > limit {
		rows = rows[:limit]
		out.Next = &rows[limit-1].Sequence
	}
	places := map[string]int{}
	for _, row := range rows {
		n, known := places[row.Path]
		if !known {
			n = len(out.Files)
			places[row.Path] = n
			out.Files = append(out.Files, task.ChangedFile{Path: row.Path})
		}
		addEdit(&out.Files[n], fileEdit(sandboxID, row))
	}
	return out, nil
}

func addEdit(f *task.ChangedFile, e task.FileEdit) {
	f.Edits = append(f.Edits, e)
	f.LinesAdded += e.LinesAdded
	f.LinesRemoved += e.LinesRemoved
}

func fileEdit(sandboxID string, row db.FileEditsRow) task.FileEdit {
	return task.FileEdit{
		EventID: ingest.EventID(sandboxID, row.Sequence), Sequence: row.Sequence, ChangeType: row.ChangeType,
		LinesAdded: lines(row.Added), LinesRemoved: lines(row.Removed), Diff: row.Diff, Complete: row.Complete,
		CreatedAt: row.CreatedAt.UTC(),
	}
}

// lines reads a count of lines as an agent reported it; what is none counts as 0.
func lines(text string) int64 {
	n, err := strconv.ParseUint(text, 10, 40)
	if err != nil {
		return 0
	}
	return int64(n)
}

// Integrity counts a sandbox's events in one snapshot; [task.CodeNotFound] for an unknown sandbox.
func (s *Store) Integrity(ctx context.Context, sandboxID string) (task.Integrity, error) {
	out := task.Integrity{SandboxID: sandboxID, Gaps: []task.Gap{}, Spools: []task.SpoolMark{}}
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, s.pool, snapshot, func(tx pgx.Tx) error {
		return readIntegrity(ctx, s.q.WithTx(tx), &out)
	})
	return out, missing(translate("count events", err), "There is no sandbox %s.", sandboxID)
}

func readIntegrity(ctx context.Context, q *db.Queries, out *task.Integrity) error {
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
	out.Head, out.Relayed, out.Refused, out.Stored = box.Head, box.Relayed, box.Duplicates, stored.Stored
	for _, g := range gaps {
		out.Gaps = append(out.Gaps, task.Gap(g))
	}
	if box.SpoolID != nil {
		out.Spools = append(out.Spools, task.SpoolMark{SpoolID: *box.SpoolID, Acknowledged: box.SpoolMark})
	}
	for _, sender := range spools {
		out.Spools = append(out.Spools, task.SpoolMark{SpoolID: sender.SpoolID, Acknowledged: sender.Mark})
	}
	out.Gapless = len(gaps) == 0 && stored.Stored == box.Head && stored.Newest == box.Head
	return nil
}

// Transcript answers the newest transcript of a sandbox, or the one that an old worker sent
// inside an event; [task.CodeNotFound] if there is none.
func (s *Store) Transcript(ctx context.Context, sandboxID string) (task.Transcript, error) {
	row, err := s.q.TranscriptRow(ctx, sandboxID)
	if err == nil {
		return task.Transcript{
			SandboxID: sandboxID, SessionID: row.RunKey, Content: base64.StdEncoding.EncodeToString(row.Content),
			Metadata: row.Metadata, UpdatedAt: row.UpdatedAt.UTC(),
		}, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return task.Transcript{}, translate("read the transcript", err)
	}
	reported, err := s.q.ReportedTranscript(ctx, sandboxID)
	return task.Transcript{
		SandboxID: sandboxID, SessionID: reported.SessionID, Content: reported.Content,
		Metadata: json.RawMessage(`{}`), UpdatedAt: reported.CreatedAt.UTC(),
	}, missing(translate("read the transcript", err), "Sandbox %s has no transcript.", sandboxID)
}

// PhaseStatus answers how far a run by phases has come and what is known of the life in
// its sandbox. An unknown sandbox has neither.
func (s *Store) PhaseStatus(ctx context.Context, sandboxID string) (task.PhaseStatus, task.Activity, error) {
	activity := task.Activity{SandboxID: sandboxID}
	row, err := s.q.LastActivity(ctx, sandboxID)
	if errors.Is(err, pgx.ErrNoRows) {
		return task.ReadPhases(sandboxID, nil, time.Time{}), activity, nil
	}
	if err != nil {
		return task.PhaseStatus{}, activity, translate("read the activity", err)
	}
	marks, err := s.q.SpecMarks(ctx, sandboxID)
	if err != nil {
		return task.PhaseStatus{}, activity, translate("read the phases", err)
	}
	phases := task.ReadPhases(sandboxID, mapAll(marks, phaseMark), row.Now)
	last, err := s.q.LastHeartbeat(ctx, sandboxID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return phases, activity, translate("read the last heartbeat", err)
	}
	if err == nil {
		activity.LastHeartbeatAt, activity.HeartbeatStatus = utc(last.CreatedAt), orNull(last.Status)
	}
	judge(&activity, row)
	return phases, activity, nil
}

func phaseMark(row db.SpecMarksRow) task.PhaseMark {
	return task.PhaseMark{EventType: row.EventType, Phase: row.Phase, At: row.CreatedAt.UTC()}
}

// judge says of a sandbox what the workflow's timers act on: silence of the agent's work.
func judge(a *task.Activity, row db.LastActivityRow) {
	const fresh, stuck = 2 * time.Minute, 15 * time.Minute
	a.HasCompleted = row.Completed
	a.IsAlive = a.LastHeartbeatAt != nil && row.Now.Sub(*a.LastHeartbeatAt) <= fresh && !row.Ended
	if row.LastWorkAt == nil {
		return
	}
	a.LastWorkAt = utc(*row.LastWorkAt)
	idle := max(row.Now.Sub(*row.LastWorkAt), 0)
	a.IdleSeconds = idle.Seconds()
	a.IsStuck = a.IsAlive && !row.Completed && idle > stuck
	a.IsIdle = a.IsStuck
}
