package postgres

import (
	"context"
	"encoding/json"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

const (
	keepCounts = 1000    // events that a reader counts before it keeps the sums
	countStep  = 100_000 // events that one statement counts: about a second's work, which stays done
)

// eventCounts says how many events of each type a sandbox has, up to its newest number.
type eventCounts struct {
	head  int64
	types map[string]typeCount
}

// typeCount is a number of events, and the numbers of the first and the last.
type typeCount struct {
	Events int64 `json:"events"`
	First  int64 `json:"first"`
	Last   int64 `json:"last"`
}

func (c typeCount) with(more typeCount) typeCount {
	if c.Events == 0 {
		return more
	}
	return typeCount{Events: c.Events + more.Events, First: c.First, Last: more.Last}
}

// heartbeats are those of all their types.
func (c eventCounts) heartbeats() (all typeCount) {
	for _, name := range event.Types(event.Liveness) {
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
func (s *Store) EventCounts(ctx context.Context, sandboxID string) (client.EventCounts, error) {
	if err := s.EventsKept(ctx, sandboxID); err != nil {
		return client.EventCounts{}, err
	}
	counts, err := s.eventCounts(ctx, sandboxID)
	out := client.EventCounts{SandboxID: sandboxID, Heartbeats: counts.heartbeats().Events, Types: map[string]int64{}}
	for name, n := range counts.types {
		out.Types[name] = n.Events
		out.Total += n.Events
	}
	return out, translate("count the events of sandbox "+sandboxID, err)
}

// eventCounts counts the events of a sandbox; an unknown one has none. Events never change: sums of the first ones are kept.
func (s *Store) eventCounts(ctx context.Context, sandboxID string) (eventCounts, error) {
	row, found, err := maybe(s.q.EventCounts(ctx, sandboxID))
	counts := eventCounts{head: row.LastSequence}
	if found {
		err = json.Unmarshal(row.Types, &counts.types)
	}
	for after := row.UpToSequence; err == nil && after < counts.head; after += countStep {
		err = s.addStep(ctx, row, db.CountEventsParams{
			PartitionMonth: row.PartitionMonth, SandboxID: sandboxID, After: after, Until: min(after+countStep, counts.head),
		}, counts.types)
	}
	return counts, err
}

// addStep adds the events of a step, and keeps the sums where they cover many more than those that are kept.
func (s *Store) addStep(ctx context.Context, row db.EventCountsRow, step db.CountEventsParams, types map[string]typeCount) error {
	fresh, err := s.q.CountEvents(ctx, step)
	if err != nil {
		return err
	}
	for _, f := range fresh {
		types[f.EventType] = types[f.EventType].with(typeCount{Events: f.Events, First: f.First, Last: f.Last})
	}
	if step.Until-row.UpToSequence < keepCounts {
		return nil
	}
	return s.q.KeepCounts(ctx, db.KeepCountsParams{SandboxID: step.SandboxID, UpToSequence: step.Until, Types: jsonOf(types)})
}
