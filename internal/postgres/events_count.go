package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// mostUncounted is how many events a reader counts again and again before it writes down
// what it has counted: so much is read for a page at most.
const mostUncounted = 1000

// eventCounts says how many events of each type a sandbox has, up to its newest number.
type eventCounts struct {
	head  int64
	types map[string]typeCount
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

// heartbeats are those of all their types.
func (c eventCounts) heartbeats() (all typeCount) {
	for _, name := range []string{task.EventAgentHeartbeat, task.EventHeartbeatBare, task.EventSpecHeartbeat} {
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

// EventCounts answers how many events of each type a sandbox has; an unknown one has none.
func (s *Store) EventCounts(ctx context.Context, sandboxID string) (task.EventCounts, error) {
	counts, err := s.eventCounts(ctx, sandboxID)
	out := task.EventCounts{SandboxID: sandboxID, Heartbeats: counts.heartbeats().Events, Types: map[string]int64{}}
	for name, n := range counts.types {
		out.Types[name] = n.Events
		out.Total += n.Events
	}
	return out, translate("count the events of sandbox "+sandboxID, err)
}

// eventCounts counts the events of a sandbox; an unknown one has none. Events never change,
// so that no transaction is needed: what is counted up to a number is counted for good.
func (s *Store) eventCounts(ctx context.Context, sandboxID string) (eventCounts, error) {
	counts := eventCounts{types: map[string]typeCount{}}
	row, err := s.q.EventCounts(ctx, sandboxID)
	if errors.Is(err, pgx.ErrNoRows) {
		return counts, nil
	}
	if err != nil {
		return counts, err
	}
	counts.head = row.Head
	if err := json.Unmarshal(row.Types, &counts.types); err != nil {
		return counts, fmt.Errorf("read counted types: %w", err)
	}
	if row.Head == row.Upto {
		return counts, nil
	}
	fresh, err := s.q.CountEvents(ctx, db.CountEventsParams{Birth: row.Birth, SandboxID: sandboxID, After: row.Upto, Until: row.Head})
	for _, f := range fresh {
		counts.types[f.EventType] = counts.types[f.EventType].with(typeCount{Events: f.Events, First: f.First, Last: f.Last})
	}
	if err != nil || row.Head-row.Upto < mostUncounted {
		return counts, err
	}
	return counts, s.keepCounts(ctx, sandboxID, counts)
}

func (s *Store) keepCounts(ctx context.Context, sandboxID string, counts eventCounts) error {
	types, err := json.Marshal(counts.types)
	if err != nil {
		return err
	}
	return s.q.KeepCounts(ctx, db.KeepCountsParams{SandboxID: sandboxID, Upto: counts.head, Types: types})
}
