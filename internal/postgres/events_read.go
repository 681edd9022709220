package postgres

import (
	"cmp"
	"context"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

const defaultEventLimit = 100

// Events returns a page of a sandbox's events, newest first. An unknown sandbox has none.
func (s *Store) Events(ctx context.Context, query ingest.EventQuery) (ingest.EventPage, error) {
	page := ingest.EventPage{Events: []ingest.StoredEvent{}}
	counts, err := s.eventCounts(ctx, query.SandboxID)
	if err != nil {
		return page, translate("count events", err)
	}
	page.Total = counts.head
	if query.Type != "" {
		page.Total = counts.types[query.Type].Events
	}
	if page.Total == 0 {
		return page, nil
	}
	found, err := s.eventRows(ctx, query, counts)
	page.Events, page.More = found.events(query.SandboxID), found.more
	return page, translate("read events", err)
}

// eventRows reads events of all types by sequence, because sequences have no gaps. Events of one type are searched from
// the newest.
func (s *Store) eventRows(ctx context.Context, query ingest.EventQuery, counts eventCounts) (*eventPage, error) {
	found := &eventPage{limit: cmp.Or(query.Limit, defaultEventLimit)}
	from := db.EventPageParams{SandboxID: query.SandboxID, Newest: counts.head, EventType: query.Type, Skip: query.Offset}
	if query.Before > 0 {
		from.Newest = min(from.Newest, query.Before-1)
	}
	if query.Type == "" {
		from.Newest, from.Skip = from.Newest-int64(query.Offset), 0
	} else {
		from.Newest = min(from.Newest, counts.types[query.Type].Last)
	}
	return found, s.rowsBefore(ctx, from, found)
}

// rowsBefore fills a page downwards from a sequence.
func (s *Store) rowsBefore(ctx context.Context, from db.EventPageParams, found *eventPage) error {
	return found.read(func(most int) ([]db.EventsAfterRow, error) {
		if len(found.rows) > 0 {
			from.Newest, from.Skip = found.last(0)-1, 0
		}
		from.PageLimit = most
		rows, err := s.q.EventPage(ctx, from)
		return mapAll(rows, func(r db.EventPageRow) db.EventsAfterRow { return db.EventsAfterRow(r) }), err
	})
}

// EventsAfter returns at most limit events of a sandbox after a sequence, oldest first. An unknown sandbox has none.
func (s *Store) EventsAfter(ctx context.Context, sandboxID string, after int64, limit int) ([]ingest.StoredEvent, error) {
	rows, err := s.q.EventsAfter(ctx, db.EventsAfterParams{
		SandboxID: sandboxID, After: after, PageLimit: cmp.Or(limit, defaultEventLimit),
	})
	if err != nil {
		return nil, translate("read events", err)
	}
	if err := s.whole(ctx, sandboxID, "sandbox "+sandboxID, after, rows); err != nil {
		return nil, err
	}
	return (&eventPage{rows: rows}).events(sandboxID), nil
}

func storedEvent(sandboxID string, row db.EventsAfterRow) ingest.StoredEvent {
	return ingest.StoredEvent{
		ID: ingest.EventID(sandboxID, row.Sequence), SandboxID: sandboxID, Attempt: row.Attempt,
		Sequence: row.Sequence, Type: row.EventType, Source: row.Source, Data: row.EventData,
		Late: row.Late, CreatedAt: row.CreatedAt.UTC(), Omitted: row.Omitted,
	}
}

// SandboxHead returns the last sequence of a sandbox, 0 for an unknown one.
func (s *Store) SandboxHead(ctx context.Context, sandboxID string) (int64, error) {
	heads, err := s.q.SandboxHead(ctx, sandboxID)
	if err != nil || len(heads) == 0 {
		return 0, translate("read the last sequence of sandbox "+sandboxID, err)
	}
	return heads[0], nil
}

// TaskHeads returns the last sequence of each attempt of a task.
func (s *Store) TaskHeads(ctx context.Context, taskID string) (map[int]int64, error) {
	boxes, err := s.q.TaskSandboxes(ctx, &taskID)
	heads := make(map[int]int64, len(boxes))
	for _, box := range boxes {
		heads[box.Attempt] = max(heads[box.Attempt], box.LastSequence)
	}
	return heads, translate("read the last sequences of task "+taskID, err)
}

// pageChunk is the number of rows per query. Rows have at most [ingest.LargeRow] bytes, so at most one page is read in
// vain.
const pageChunk = ingest.MaxPage / ingest.LargeRow

// eventPage collects events up to a limit of events and bytes.
type eventPage struct {
	limit int
	rows  []db.EventsAfterRow
	bytes int
	more  bool // more events exist than the page holds
}

// read requests further rows until the page is full or no more rows exist.
func (p *eventPage) read(next func(most int) ([]db.EventsAfterRow, error)) error {
	for {
		most := min(pageChunk, p.limit+1-len(p.rows))
		rows, err := next(most)
		if err != nil {
			return err
		}
		if p.add(rows); p.more || len(rows) < most {
			return nil
		}
	}
}

// add appends rows while there is room; the first one always fits.
func (p *eventPage) add(rows []db.EventsAfterRow) {
	for _, row := range rows {
		full := p.bytes > 0 && p.bytes+len(row.EventData) > ingest.MaxPage
		if full || len(p.rows) == p.limit {
			p.more = true
			return
		}
		p.rows, p.bytes = append(p.rows, row), p.bytes+len(row.EventData)
	}
}

// last returns the sequence of the last event, or empty for an empty page.
func (p *eventPage) last(empty int64) int64 {
	if len(p.rows) == 0 {
		return empty
	}
	return p.rows[len(p.rows)-1].Sequence
}

func (p *eventPage) events(sandboxID string) []ingest.StoredEvent {
	return mapAll(p.rows, func(row db.EventsAfterRow) ingest.StoredEvent { return storedEvent(sandboxID, row) })
}
