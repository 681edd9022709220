package postgres

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// missedBeats is the number of periods without a heartbeat that make an outage.
const missedBeats = 3

// Beat records the heartbeat of a component, which is due every [Config.PulsePeriod]. After a silence of three periods,
// Beat records an outage.
func (s *Store) Beat(ctx context.Context, part string) error {
	return translate("record the heartbeat of "+part, s.q.Beat(ctx, part, s.stale()))
}

func (s *Store) stale() time.Duration { return missedBeats * s.cfg.PulsePeriod }

// Pulse returns the signs of life of a sandbox as ages by the time of the database, and for how long ingest and relay
// were down within the last window. A component without any heartbeat counts as down.
func (s *Store) Pulse(ctx context.Context, sandboxID string, window time.Duration) (task.Pulse, error) {
	row, err := s.q.Pulse(ctx, sandboxID)
	if err != nil {
		return task.Pulse{}, translate("read the heartbeats of sandbox "+sandboxID, err)
	}
	out := task.Pulse{
		Head: row.LastSequence, Assigned: age(row.Assigned), Beat: age(row.Beat), Work: age(row.Work), Started: -1, Waiting: -1,
		VerdictDue: row.VerdictDue,
	}
	if err := s.readSigns(ctx, sandboxID, row.PartitionMonth, &out); err != nil {
		return task.Pulse{}, translate("read the events of sandbox "+sandboxID, err)
	}
	for part, out := range map[string]*time.Duration{ingest.PartIntake: &out.IntakeOut, ingest.PartRelay: &out.RelayOut} {
		seconds, err := s.q.OutageSeconds(ctx, db.OutageSecondsParams{Lookback: window, Part: part, Stale: s.stale()})
		if err != nil {
			return task.Pulse{}, translate("read the outages of "+part, err)
		}
		*out = min(age(seconds), window)
	}
	return out, nil
}

// NoteDoubt records what the last check of a running attempt could not determine; a zero reason clears the record.
func (s *Store) NoteDoubt(ctx context.Context, sandboxID string, reason task.Reason) error {
	return translate("record the unknown state of sandbox "+sandboxID, s.q.NoteDoubt(ctx, reason.Stored(), sandboxID))
}

// NoteTrouble records why a task waits for a step that is retried; a zero reason clears the record.
func (s *Store) NoteTrouble(ctx context.Context, taskID string, reason task.Reason) error {
	return translate("record the retry reason of task "+taskID, s.q.NoteTrouble(ctx, reason.Stored(), taskID))
}

// readSigns reads the events whose content matters.
func (s *Store) readSigns(ctx context.Context, sandboxID string, month time.Time, out *task.Pulse) error {
	beats := event.Types(event.Liveness)
	last, err := s.q.NewestSign(ctx, db.NewestSignParams{
		PartitionMonth: month, SandboxID: sandboxID, Heartbeats: append(event.Types(event.Background), beats...),
	})
	if err != nil {
		return err
	}
	newest, err := s.q.NewestEvents(ctx, db.NewestEventsParams{
		Types: append(beats, event.AgentStarted, event.AgentWaiting, event.AgentShutdown), PartitionMonth: month, SandboxID: sandboxID,
	})
	if err != nil {
		return err
	}
	if len(last) > 0 {
		out.LastType = last[0].EventType
	}
	beaten := false // only the newest heartbeat names the tool
	for _, e := range newest {
		switch e.EventType {
		case event.AgentStarted:
			out.Started = age(e.Age)
		case event.AgentWaiting:
			if e.Sequence == last[0].Sequence {
				out.Waiting = age(e.Age)
			}
		case event.AgentShutdown:
			out.Interrupted = e.Sequence == last[0].Sequence && event.Read[event.Delivery](e.EventData).Reason == "interrupted"
		default:
			if !beaten {
				readTool(e, out)
			}
			beaten = true
		}
	}
	if !out.Interrupted {
		return nil
	}
	by, err := s.interrupters(ctx, []string{sandboxID})
	out.InterruptedBy = by[sandboxID]
	return err
}

// interrupters returns the sender kinds of the newest interrupts that stopped the agents of sandboxes.
func (s *Store) interrupters(ctx context.Context, ids []string) (map[string]string, error) {
	rows, err := s.q.Interrupters(ctx, ids)
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.SandboxID] = r.SenderKind
	}
	return out, translate("read the senders of interrupts", err)
}

// readTool reads the tool call in a heartbeat and its current age.
func readTool(e db.NewestEventsRow, out *task.Pulse) {
	if sign := event.Read[event.Sign](e.EventData); sign.Tool != "" {
		out.Tool, out.ToolAge = sign.Tool, event.Millis(sign.ToolMS)+max(age(e.Age), 0)
	}
}

// age converts seconds to a duration.
func age(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second))
}
