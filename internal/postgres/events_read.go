package postgres

import (
	"context"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

const defaultEventLimit = 100

// Events answers a page of a sandbox's events, newest first. An unknown sandbox has none.
func (s *Store) Events(ctx context.Context, query ingest.EventQuery) (ingest.EventPage, error) {
	page := ingest.EventPage{Events: []ingest.StoredEvent{}}
	counts, err := s.eventCounts(ctx, query.SandboxID)
	if err != nil {
		return page, translate("count events", err)
	}
	stretch := typeCount{Events: counts.head, First: 1, Last: counts.head}
	if query.Type != "" {
		stretch = counts.types[query.Type]
	}
	if page.Total = stretch.Events; page.Total == 0 {
		return page, nil
	}
	if query.Before > 0 {
		stretch.Last = min(stretch.Last, query.Before-1)
	}
	found, err := s.eventRows(ctx, query, stretch)
	page.Events, page.More = found.events(query.SandboxID), found.more
	return page, translate("read events", err)
}

func (s *Store) eventRows(ctx context.Context, query ingest.EventQuery, in typeCount) (*eventPage, error) {
	found := &eventPage{limit: orDefault(query.Limit, defaultEventLimit)}
	offset := int32(query.Offset) //nolint:gosec // G115: small by the API's bounds
	if query.Type == "" {         // numbers without a gap: what is passed over need not be read
		in.Last, offset = in.Last-int64(offset), 0
	}
	err := found.read(func(most int32) ([]db.EventsAfterRow, error) {
		rows, err := s.q.EventPage(ctx, db.EventPageParams{
			SandboxID: query.SandboxID, EventType: query.Type, Oldest: in.First, Newest: found.last(in.Last+1) - 1,
			PageLimit: most, PageOffset: offset,
		})
		offset = 0 // the next rows are looked for by their numbers
		return mapAll(rows, func(r db.EventPageRow) db.EventsAfterRow { return db.EventsAfterRow(r) }), err
	})
	return found, err
}

// EventsAfter answers at most limit events of a sandbox beyond a sequence, oldest first.
// An unknown sandbox has none.
func (s *Store) EventsAfter(ctx context.Context, sandboxID string, after int64, limit int) ([]ingest.StoredEvent, error) {
	rows, err := s.q.EventsAfter(ctx, db.EventsAfterParams{
		SandboxID: sandboxID, After: after, PageLimit: int32(orDefault(limit, defaultEventLimit)), //nolint:gosec // G115: small by the API's bounds
	})
	events := make([]ingest.StoredEvent, 0, len(rows))
	for _, row := range rows {
		events = append(events, storedEvent(sandboxID, row))
	}
	return events, translate("read events", err)
}

func storedEvent(sandboxID string, row db.EventsAfterRow) ingest.StoredEvent {
	return ingest.StoredEvent{
		ID: ingest.EventID(sandboxID, row.Sequence), SandboxID: sandboxID, Attempt: int(row.Attempt),
		Sequence: row.Sequence, Type: row.EventType, Source: row.Source, Data: row.EventData,
		Late: row.Late, CreatedAt: row.CreatedAt.UTC(), Omitted: row.Omitted,
	}
}
