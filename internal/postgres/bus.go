package postgres

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

// BusPlace returns the current end of the bus, where a reader without history starts, and the time of the database.
func (s *Store) BusPlace(ctx context.Context) (ingest.BusPlace, time.Time, error) {
	row, err := s.q.BusBound(ctx)
	return ingest.BusPlace{Xid: row.Xid}, row.Now, translate("read the end of the bus", err)
}

// BusEvents returns the frames after a position in order, and the new position. Fewer than limit frames mean that no
// more exist. Entries that an open transaction of this database may still precede are held back.
func (s *Store) BusEvents(ctx context.Context, who ingest.BusReader, after ingest.BusPlace, limit int) ([]ingest.BusEvent, ingest.BusPlace, error) {
	bound, err := s.q.BusBound(ctx)
	if err != nil {
		return nil, after, translate("read the end of the bus", err)
	}
	var out []ingest.BusEvent
	for {
		rows, err := s.q.BusEvents(ctx, db.BusEventsParams{
			Bound: bound.Xid, AfterXid: after.Xid, AfterID: after.ID, OrganizationID: who.OrganizationID, Bare: who.Bare,
			PageLimit: limit,
		})
		for _, r := range rows {
			frames := ingest.Frames(ingest.BusEvent{EventType: r.EventType, EntityType: r.EntityType, EntityID: r.EntityID, Payload: r.Payload})
			out, after = append(out, frames...), ingest.BusPlace{Xid: r.Xid, ID: r.ID}
		}
		if err != nil || len(rows) < limit || len(out) >= limit { // a change can have no frame
			return out, after, translate("read the bus", err)
		}
	}
}

// MovedSandboxes returns the sandboxes that reported events since a time, with their last sequences.
func (s *Store) MovedSandboxes(ctx context.Context, who ingest.BusReader, since time.Time) (map[string]int64, error) {
	rows, err := s.q.MovedSandboxes(ctx, db.MovedSandboxesParams{Since: &since, OrganizationID: who.OrganizationID, Bare: who.Bare})
	heads := make(map[string]int64, len(rows))
	for _, r := range rows {
		heads[r.ID] = r.LastSequence
	}
	return heads, translate("list sandboxes with new events", err)
}

// SandboxPlace returns the last sequence of a sandbox before the reader started. The result visible is false for a
// sandbox that is unknown or belongs to another organization.
func (s *Store) SandboxPlace(ctx context.Context, who ingest.BusReader, sandboxID string) (place int64, visible bool, err error) {
	place, visible, err = maybe(s.q.SandboxPlace(ctx, db.SandboxPlaceParams{
		Since: who.Since, SandboxID: sandboxID, OrganizationID: who.OrganizationID, Bare: who.Bare,
	}))
	return place, visible, translate("read the last sequence of a sandbox", err)
}
