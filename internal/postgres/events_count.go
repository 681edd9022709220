package postgres

import (
	"context"
	"encoding/json"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

const (
	keepCounts = 1000    // new events after which a reader stores the sums
	countStep  = 100_000 // events that one statement counts: about one second
)

// eventCounts holds the number of events of a sandbox by type, up to its last sequence.
type eventCounts struct {
	head  int64
	types map[string]typeCount
}

// typeCount is a number of events with the sequences of the first and the last one.
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

// heartbeats returns the sum over all heartbeat types.
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

// EventCounts returns the number of events of a sandbox by type, 0 for an unknown sandbox. [task.CodeGone] if retention
// removed the events.
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

// eventCounts counts the events of a sandbox, 0 for an unknown one. Stored events never change, so sums of earlier
// events are reused.
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

// addStep adds the events of one step, and stores the sums if they cover many new events.
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
