package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/retention"
)

// TaskEventsAfter answers at most limit events of a task beyond a cursor, attempt by
// attempt, each oldest first. What an attempt says when its successor has begun comes too.
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

// rowsAfter fills a page beyond a number, oldest first.
func (s *Store) rowsAfter(ctx context.Context, from db.EventsAfterParams, found *eventPage) error {
	err := found.read(func(most int) ([]db.EventsAfterRow, error) {
		from.After, from.PageLimit = found.last(from.After), most
		return s.q.EventsAfter(ctx, from)
	})
	return translate("read events", err)
}

// keptFrom is [task.CodeGone] for a cursor into an attempt whose events retention removed, or before it, and for one at the
// beginning where nothing is left. A retry of such a task is read from its own beginning.
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

// settled takes an attempt before that of the cursor, of which the cursor says nothing, for
// read: somebody made the cursor who wants to see what comes after one event. So is one whose events were removed.
func settled(after ingest.Cursor, boxes []db.TaskSandboxesRow) ingest.Cursor {
	for _, box := range boxes {
		if _, known := after.In(box.Attempt); !known && (box.Attempt < after.Attempt || box.RemovedAt != nil && box.LastSequence > 0) {
			after = after.Known(box.Attempt, box.LastSequence)
		}
	}
	return after
}
