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

// eventRows reads no event that the page passes over: those of all types have numbers without
// a gap, those of one type have places.
func (s *Store) eventRows(ctx context.Context, query ingest.EventQuery, counts eventCounts) (*eventPage, error) {
	found := &eventPage{limit: orDefault(query.Limit, defaultEventLimit)}
	newest := counts.head
	if query.Before > 0 {
		newest = min(newest, query.Before-1)
	}
	if query.Type == "" {
		return found, s.rowsBefore(ctx, query.SandboxID, newest-int64(query.Offset), found)
	}
	places := s.places(query.SandboxID, query.Type, counts)
	if query.Offset > 0 {
		var err error
		if newest, err = places.skip(ctx, newest, int64(query.Offset)); err != nil || newest == 0 {
			return found, err
		}
	}
	return found, places.readBefore(ctx, newest, found)
}

func (s *Store) rowsBefore(ctx context.Context, sandboxID string, newest int64, found *eventPage) error {
	return found.read(func(most int32) ([]db.EventsAfterRow, error) {
		rows, err := s.q.EventPage(ctx, db.EventPageParams{SandboxID: sandboxID, Newest: found.last(newest+1) - 1, PageLimit: most})
		return mapAll(rows, func(r db.EventPageRow) db.EventsAfterRow { return db.EventsAfterRow(r) }), err
	})
}

// EventsAfter answers at most limit events of a sandbox beyond a sequence, oldest first.
// An unknown sandbox has none.
func (s *Store) EventsAfter(ctx context.Context, sandboxID string, after int64, limit int) ([]ingest.StoredEvent, error) {
	rows, err := s.q.EventsAfter(ctx, db.EventsAfterParams{
		SandboxID: sandboxID, After: after, PageLimit: int32(orDefault(limit, defaultEventLimit)), //nolint:gosec // G115: small by the API's bounds
	})
	if err != nil {
		return nil, translate("read events", err)
	}
	if err := s.whole(ctx, sandboxID, "sandbox "+sandboxID, after, rows); err != nil {
		return nil, err
	}
	events := make([]ingest.StoredEvent, 0, len(rows))
	for _, row := range rows {
		events = append(events, storedEvent(sandboxID, row))
	}
	return events, nil
}

func storedEvent(sandboxID string, row db.EventsAfterRow) ingest.StoredEvent {
	return ingest.StoredEvent{
		ID: ingest.EventID(sandboxID, row.Sequence), SandboxID: sandboxID, Attempt: int(row.Attempt),
		Sequence: row.Sequence, Type: row.EventType, Source: row.Source, Data: row.EventData,
		Late: row.Late, CreatedAt: row.CreatedAt.UTC(), Omitted: row.Omitted,
	}
}
