package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// placesBlock is how many numbers a reader counts at once for good: fewer are counted again and
// again, so that much is read for a page at most. The queries of places know it too.
const placesBlock = 1000

// placesStep is how many numbers a reader counts in one transaction: about a second's work.
const placesStep = 100 * placesBlock

// eventCounts says how many events of each type a sandbox has, up to its newest number.
type eventCounts struct {
	head  int64
	types map[string]typeCount
	edge  int64              // the end of the last whole block
	tail  map[string][]int64 // the places behind it, by type
}

// typeCount is a number of events, and the numbers of the first and the last.
type typeCount struct{ Events, First, Last int64 }

// MarshalJSON keeps the stored form short.
func (c typeCount) MarshalJSON() ([]byte, error) {
	return json.Marshal([3]int64{c.Events, c.First, c.Last})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (c *typeCount) UnmarshalJSON(raw []byte) error {
	var n [3]int64
	err := json.Unmarshal(raw, &n)
	c.Events, c.First, c.Last = n[0], n[1], n[2]
	return err
}

func (c typeCount) with(more typeCount) typeCount {
	if c.Events == 0 {
		return more
	}
	return typeCount{Events: c.Events + more.Events, First: c.First, Last: more.Last}
}

func heartbeatTypes() []string {
	return []string{event.AgentHeartbeat, event.Heartbeat, event.SpecHeartbeat}
}

// heartbeats are those of all their types.
func (c eventCounts) heartbeats() (all typeCount) {
	for _, name := range heartbeatTypes() {
		switch n := c.types[name]; {
		case n.Events == 0:
		case all.Events == 0:
			all = n
		default:
			all = typeCount{Events: all.Events + n.Events, First: min(all.First, n.First), Last: max(all.Last, n.Last)}
		}
	}
	return all
}

// EventCounts answers how many events of each type a sandbox has; an unknown one has none. [task.CodeGone] if retention removed them.
func (s *Store) EventCounts(ctx context.Context, sandboxID string) (task.EventCounts, error) {
	if err := s.EventsKept(ctx, sandboxID); err != nil {
		return task.EventCounts{}, err
	}
	counts, err := s.eventCounts(ctx, sandboxID)
	out := task.EventCounts{SandboxID: sandboxID, Heartbeats: counts.heartbeats().Events, Types: map[string]int64{}}
	for name, n := range counts.types {
		out.Types[name] = n.Events
		out.Total += n.Events
	}
	return out, translate("count the events of sandbox "+sandboxID, err)
}

// eventCounts counts the events of a sandbox; an unknown one has none. Events never change:
// what is counted up to a number is counted for good.
func (s *Store) eventCounts(ctx context.Context, sandboxID string) (eventCounts, error) {
	counts := eventCounts{types: map[string]typeCount{}, tail: map[string][]int64{}}
	row, err := s.countBlocks(ctx, sandboxID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && row.LastSequence == 0 {
		return counts, nil
	}
	if err != nil {
		return counts, err
	}
	counts.head, counts.edge = row.LastSequence, row.UpToSequence
	if err := json.Unmarshal(row.Types, &counts.types); err != nil {
		return counts, fmt.Errorf("read counted types: %w", err)
	}
	if counts.edge == counts.head {
		return counts, nil
	}
	return counts, s.countTail(ctx, sandboxID, row.PartitionMonth, &counts)
}

// countBlocks counts until all whole blocks are. It does so step by step, so that what is done
// stays done where the reader gives up.
func (s *Store) countBlocks(ctx context.Context, sandboxID string) (db.EventCountsRow, error) {
	for {
		row, err := s.q.EventCounts(ctx, sandboxID)
		if err != nil || nextEdge(row) == row.UpToSequence {
			return row, err
		}
		if err := s.keepBlocks(ctx, sandboxID); err != nil {
			return row, err
		}
	}
}

// nextEdge is how far the next step counts: to the end of the last whole block, or of the last one of a step.
func nextEdge(row db.EventCountsRow) int64 {
	return max(row.UpToSequence, min(row.LastSequence/placesBlock*placesBlock, row.UpToSequence+placesStep))
}

// keepBlocks makes one step, unless another reader has made it meanwhile.
func (s *Store) keepBlocks(ctx context.Context, sandboxID string) error {
	return s.inTx(ctx, func(q *db.Queries, _ pgx.Tx) error {
		if err := q.LockCounts(ctx, sandboxID); err != nil {
			return err
		}
		row, err := q.EventCounts(ctx, sandboxID)
		if edge := nextEdge(row); err == nil && edge > row.UpToSequence {
			err = keepCounts(ctx, q, sandboxID, row, edge)
		}
		return err
	})
}

// keepCounts goes on to the end of a block. Places come last: their keys lock the row of the sandbox, which posts change.
func keepCounts(ctx context.Context, q *db.Queries, sandboxID string, row db.EventCountsRow, edge int64) error {
	types := map[string]typeCount{}
	if err := json.Unmarshal(row.Types, &types); err != nil {
		return fmt.Errorf("read counted types: %w", err)
	}
	fresh, err := q.CountEvents(ctx, db.CountEventsParams{PartitionMonth: row.PartitionMonth, SandboxID: sandboxID, After: row.UpToSequence, Until: edge})
	if err != nil {
		return err
	}
	for _, f := range fresh {
		types[f.EventType] = types[f.EventType].with(typeCount{Events: f.Events, First: f.First, Last: f.Last})
	}
	raw, err := json.Marshal(types)
	if err != nil {
		return err
	}
	err = q.KeepPlaces(ctx, db.KeepPlacesParams{SandboxID: sandboxID, PartitionMonth: row.PartitionMonth, After: row.UpToSequence, Until: edge, Types: row.Types})
	if err != nil {
		return err
	}
	return q.KeepCounts(ctx, db.KeepCountsParams{SandboxID: sandboxID, UpToSequence: edge, Types: raw})
}

func (s *Store) countTail(ctx context.Context, sandboxID string, month time.Time, counts *eventCounts) error {
	tail, err := s.q.TailPlaces(ctx, db.TailPlacesParams{PartitionMonth: month, SandboxID: sandboxID, After: counts.edge, Until: counts.head})
	for _, t := range tail {
		n := len(t.Places)
		counts.tail[t.EventType] = t.Places
		counts.types[t.EventType] = counts.types[t.EventType].with(typeCount{Events: int64(n), First: t.Places[0], Last: t.Places[n-1]})
	}
	return err
}
