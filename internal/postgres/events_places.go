package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/postgres/db"
)

// butHeartbeats is the type of places that stands for all events but heartbeats.
const butHeartbeats = ""

// eventPlaces finds the events of one type by their numbers, without a look at those between.
type eventPlaces struct {
	s         *Store
	sandboxID string
	eventType string
	edge      int64
	tail      []int64 // behind the edge, oldest first
	kept      int64   // up to the edge; of no meaning without a type
}

func (s *Store) places(sandboxID, eventType string, counts eventCounts) eventPlaces {
	p := eventPlaces{s: s, sandboxID: sandboxID, eventType: eventType, edge: counts.edge, tail: counts.tail[eventType]}
	if eventType == butHeartbeats {
		p.tail = counts.working()
	}
	p.kept = counts.types[eventType].Events - int64(len(p.tail))
	return p
}

// working are the places of the tail that are no heartbeats, oldest first.
func (c eventCounts) working() (all []int64) {
	for name, places := range c.tail {
		if !slices.Contains(heartbeatTypes(), name) {
			all = append(all, places...)
		}
	}
	slices.Sort(all)
	return all
}

// before are the newest places up to a number, newest first.
func (p eventPlaces) before(ctx context.Context, newest int64, most int32) ([]int64, error) {
	found := slices.Clone(p.tail[max(p.inTail(newest)-int(most), 0):p.inTail(newest)])
	slices.Reverse(found)
	if missing := most - int32(len(found)); missing > 0 && p.edge > 0 && newest > 0 { //nolint:gosec // G115: no more than most are found
		kept, err := p.s.q.PlacesBefore(ctx, db.PlacesBeforeParams{
			SandboxID: p.sandboxID, EventType: p.eventType, Newest: min(newest, p.edge), Most: missing,
		})
		return append(found, kept...), err
	}
	return found, nil
}

// after are the oldest places beyond a number, oldest first.
func (p eventPlaces) after(ctx context.Context, after int64, most int32) (found []int64, err error) {
	if after < p.edge {
		found, err = p.s.q.PlacesAfter(ctx, db.PlacesAfterParams{
			SandboxID: p.sandboxID, EventType: p.eventType, After: after, Edge: p.edge, Most: most,
		})
	}
	tail := p.tail[p.inTail(after):]
	return append(found, tail[:min(len(tail), int(most)-len(found))]...), err
}

// inTail is how many places of the tail are not beyond a number.
func (p eventPlaces) inTail(upto int64) int {
	n, found := slices.BinarySearch(p.tail, upto)
	if found {
		n++
	}
	return n
}

// skip passes over as many places, from the newest one up to a number on, and answers that of
// the next one; 0 if there is none.
func (p eventPlaces) skip(ctx context.Context, newest, offset int64) (int64, error) {
	rank, err := p.rank(ctx, newest)
	switch rank -= offset; {
	case err != nil || rank < 1:
		return 0, err
	case rank > p.kept:
		return p.tail[rank-p.kept-1], nil
	}
	return p.s.q.PlaceOf(ctx, db.PlaceOfParams{SandboxID: p.sandboxID, EventType: p.eventType, Rank: rank})
}

// rank is how many places there are up to a number.
func (p eventPlaces) rank(ctx context.Context, newest int64) (int64, error) {
	if newest >= p.edge {
		return p.kept + int64(p.inTail(newest)), nil
	}
	if newest < 1 {
		return 0, nil
	}
	rank, err := p.s.q.RankOf(ctx, db.RankOfParams{SandboxID: p.sandboxID, EventType: p.eventType, Newest: newest})
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return rank, err
}

// readBefore fills a page from a number on, newest first.
func (p eventPlaces) readBefore(ctx context.Context, newest int64, page *eventPage) error {
	return page.read(func(most int32) ([]db.EventsAfterRow, error) {
		places, err := p.before(ctx, page.last(newest+1)-1, most)
		if err != nil {
			return nil, err
		}
		return p.rowsAt(ctx, places)
	})
}

// readAfter fills a page beyond a number, oldest first.
func (p eventPlaces) readAfter(ctx context.Context, after int64, page *eventPage) error {
	return page.read(func(most int32) ([]db.EventsAfterRow, error) {
		places, err := p.after(ctx, page.last(after), most)
		if err != nil {
			return nil, err
		}
		return p.rowsAt(ctx, places)
	})
}

// rowsAt answers the events at places, in the order of these.
func (p eventPlaces) rowsAt(ctx context.Context, places []int64) ([]db.EventsAfterRow, error) {
	if len(places) == 0 {
		return nil, nil
	}
	rows, err := p.s.q.EventsAt(ctx, p.sandboxID, places)
	if places[0] > places[len(places)-1] {
		slices.Reverse(rows)
	}
	return mapAll(rows, func(r db.EventsAtRow) db.EventsAfterRow { return db.EventsAfterRow(r) }), err
}
