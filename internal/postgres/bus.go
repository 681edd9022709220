package postgres

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

// BusPlace answers where a reader of the bus begins who wants no past, and the database's clock.
func (s *Store) BusPlace(ctx context.Context) (ingest.BusPlace, time.Time, error) {
	row, err := s.q.BusBound(ctx)
	return ingest.BusPlace{Xid: row.Xid}, row.Now, translate("read the place of the bus", err)
}

// BusEvents returns the frames of the entries of the bus beyond a place, in their order, and
// the new place. Fewer than limit frames: nothing more is there. What an open transaction of this database may still precede is not answered yet.
func (s *Store) BusEvents(ctx context.Context, who ingest.BusReader, after ingest.BusPlace, limit int) ([]ingest.BusEvent, ingest.BusPlace, error) {
	bound, err := s.q.BusBound(ctx)
	if err != nil {
		return nil, after, translate("read the place of the bus", err)
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
		if err != nil || len(rows) < limit || len(out) >= limit { // a change may have no frame
			return out, after, translate("read the bus", err)
		}
	}
}

// MovedSandboxes answers the sandboxes that reported something since a moment, with the
// numbers of their newest events.
func (s *Store) MovedSandboxes(ctx context.Context, who ingest.BusReader, since time.Time) (map[string]int64, error) {
	rows, err := s.q.MovedSandboxes(ctx, db.MovedSandboxesParams{Since: &since, OrganizationID: who.OrganizationID, Bare: who.Bare})
	heads := make(map[string]int64, len(rows))
	for _, r := range rows {
		heads[r.ID] = r.LastSequence
	}
	return heads, translate("find the sandboxes with news", err)
}

// SandboxPlace answers the number of a sandbox's newest event before who began to read. It
// is not visible for a sandbox that is unknown or another organization's.
func (s *Store) SandboxPlace(ctx context.Context, who ingest.BusReader, sandboxID string) (place int64, visible bool, err error) {
	place, visible, err = maybe(s.q.SandboxPlace(ctx, db.SandboxPlaceParams{
		Since: who.Since, SandboxID: sandboxID, OrganizationID: who.OrganizationID, Bare: who.Bare,
	}))
	return place, visible, translate("find the place in a sandbox", err)
}
