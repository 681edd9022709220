package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/retention"
)

// TaskEventsAfter returns at most limit events of a task after a cursor, attempt by attempt, each oldest first. Late
// events of earlier attempts are included.
func (s *Store) TaskEventsAfter(ctx context.Context, taskID string, after ingest.Cursor, limit int) (ingest.TaskPage, error) {
	boxes, err := s.q.TaskSandboxes(ctx, &taskID)
	if err != nil {
		return ingest.TaskPage{}, translate("read the task's sandboxes", err)
	}
	if err := keptFrom(taskID, after, boxes); err != nil {
		return ingest.TaskPage{}, err
	}
	out := ingest.TaskPage{Events: []ingest.StoredEvent{}, From: settled(after, boxes)}
	room := eventPage{limit: cmp.Or(limit, defaultEventLimit)}
	for _, box := range boxes {
		from, _ := out.From.In(box.Attempt)
		if box.LastSequence <= from {
			continue
		}
		found := &eventPage{limit: room.limit - len(out.Events), bytes: room.bytes}
		if err := s.rowsAfter(ctx, db.EventsAfterParams{SandboxID: box.ID, After: from}, found); err != nil {
			return ingest.TaskPage{}, err
		}
		if err := s.whole(ctx, box.ID, "task "+taskID, from, found.rows); err != nil {
			return ingest.TaskPage{}, err
		}
		out.Events, room.bytes = append(out.Events, found.events(box.ID)...), found.bytes
		if out.More = found.more; out.More {
			break
		}
	}
	return out, nil
}

// rowsAfter fills a page upwards from a sequence.
func (s *Store) rowsAfter(ctx context.Context, from db.EventsAfterParams, found *eventPage) error {
	err := found.read(func(most int) ([]db.EventsAfterRow, error) {
		from.After, from.PageLimit = found.last(from.After), most
		return s.q.EventsAfter(ctx, from)
	})
	return translate("read events", err)
}

// keptFrom returns [task.CodeGone] if retention removed events after the cursor. Without a cursor, keptFrom returns
// [task.CodeGone] only if no events are left: a retry of an old task is read from its own start.
func keptFrom(taskID string, after ingest.Cursor, boxes []db.TaskSandboxesRow) error {
	var removed *time.Time
	left := false
	for _, box := range boxes {
		from, known := after.In(box.Attempt)
		switch {
		case box.RemovedAt == nil:
			left = left || box.LastSequence > 0
		case known && from < box.LastSequence, !known && box.LastSequence > 0 && after != (ingest.Cursor{}) && box.Attempt > after.Attempt:
			return retention.Removed(retention.Events, "task "+taskID, *box.RemovedAt)
		case !known && box.LastSequence > 0:
			removed = box.RemovedAt
		}
	}
	if removed != nil && !left && after == (ingest.Cursor{}) {
		return retention.Removed(retention.Events, "task "+taskID, *removed)
	}
	return nil
}

// settled marks attempts that the cursor does not name as read, if they precede its attempt: such a cursor was made
// from a single event. Attempts whose events were removed are marked as read too.
func settled(after ingest.Cursor, boxes []db.TaskSandboxesRow) ingest.Cursor {
	for _, box := range boxes {
		if _, known := after.In(box.Attempt); !known && (box.Attempt < after.Attempt || box.RemovedAt != nil && box.LastSequence > 0) {
			after = after.Known(box.Attempt, box.LastSequence)
		}
	}
	return after
}
