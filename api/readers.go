package api

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/spec"
	"github.com/omoi-dev/omoi/internal/task"
)

// Readers reads pages, counts and summaries of the events of a sandbox.
type Readers interface {
	Event(ctx context.Context, sandboxID string, sequence int64) (ingest.StoredEvent, error)
	Events(ctx context.Context, q ingest.EventQuery) (ingest.EventPage, error)
	Trajectory(ctx context.Context, q ingest.TrajectoryQuery) (ingest.Trajectory, error)
	// FieldsKept returns [task.CodeGone] if retention removed the large fields of a sandbox's events.
	FieldsKept(ctx context.Context, sandboxID string) error
	Integrity(ctx context.Context, sandboxID string) (client.Integrity, error)
	EventCounts(ctx context.Context, sandboxID string) (client.EventCounts, error)
	PhaseStatus(ctx context.Context, sandboxID string) (spec.PhaseStatus, client.Activity, error)
}

func (a *API) registerReaders() {
	sandbox := a.group(tagSandboxes, "/api/v1/sandboxes/{sandbox_id}")
	sandboxes := a.group(tagSandboxes, "/api/v1/sandboxes")
	add(sandbox.on(accessInspect, "GET /trajectory", "trajectory", "Get a trajectory"), a.trajectory,
		details{more: "Legacy. Events without heartbeats, newest first, and a summary of the heartbeats. " +
			"An unknown sandbox has no events."})
	add(sandbox.on(accessInspect, "GET /events/{event_id}", "get-event", "Get an event"), a.getEvent,
		details{more: "One event with its large fields. 410 after retention removed the events or these fields."})
	add(sandbox.on(accessInspect, "GET /integrity", "sandbox-integrity", "Check event integrity"), a.integrity,
		details{more: "Counts in one snapshot whether each number up to the last sequence is stored once. " +
			"410 after retention removed the events."})
	add(sandbox.on(accessInspect, "GET /counts", "sandbox-counts", "Count events by type"), a.eventCounts,
		details{more: "Counts all stored events of the sandbox. 410 after retention removed the events."})
	add(sandbox.on(accessInspect, "GET /phase-status", "phase-status", "Get spec phase status"), a.phaseStatus,
		details{more: "Legacy. Progress of a spec execution and activity of its agent; empty for an unknown sandbox."})
	add(sandboxes.on(accessAdmin, "POST /admin/clear-tracked-sandboxes", "clear-tracked-sandboxes", "Legacy no-op"),
		a.clearTracked, details{more: "Legacy. Clears nothing, since no sandbox is tracked in memory, and stops no sandbox."})
}

type trajectoryIn struct {
	SandboxPath
	Limit     int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"Maximum number of events; a page ends earlier once its events have 8 MiB of data"`
	Cursor    string `query:"cursor" maxLength:"200" doc:"Event ID: only events before it, or after it with direction newer. An unknown ID counts as none"`
	Direction string `query:"direction" default:"older" doc:"older, or newer, which every other value means too; default older"`
}

// trajectory pages by sequence: next_cursor leads to older events, prev_cursor to newer ones.
func (a *API) trajectory(ctx context.Context, in *trajectoryIn) (*bodyOut[client.Trajectory], error) {
	cursor, err := a.knownCursor(ctx, in.SandboxID, in.Cursor)
	if err != nil {
		return nil, err
	}
	q := ingest.TrajectoryQuery{SandboxID: in.SandboxID, Limit: in.Limit, Newer: in.Direction != "older", Cursor: cursor}
	page, err := a.deps.Readers.Trajectory(ctx, q)
	out := client.Trajectory{
		SandboxID: in.SandboxID, Events: wireEvents(page.Events), TotalEvents: page.Total,
		TrajectoryEvents: len(page.Events), HasMore: page.More,
		Heartbeats: client.HeartbeatSummary{
			Count: page.Heartbeats.Count, First: page.Heartbeats.First, Last: page.Heartbeats.Last,
		},
	}
	out.NextCursor, out.PrevCursor = cursorsOf(q, page)
	return body(out, err)
}

// cursorsOf returns the cursors of a page. An empty page gets cursors at its position, so that a reader can continue.
func cursorsOf(q ingest.TrajectoryQuery, page ingest.Trajectory) (next, prev *string) {
	id := func(sequence int64) *string {
		text := ingest.EventID(q.SandboxID, sequence)
		return &text
	}
	switch n := len(page.Events); {
	case n > 0:
		if page.More {
			next = &page.Events[n-1].ID
		}
		return next, &page.Events[0].ID
	case q.Newer || q.Cursor == 0:
		return nil, id(max(q.Cursor, page.Total)) // all events up to there are heartbeats
	default:
		return nil, id(q.Cursor - 1) // the event at the cursor is newer than this page
	}
}

func wireEvents(events []ingest.StoredEvent) []client.SandboxEvent {
	out := make([]client.SandboxEvent, 0, len(events))
	for _, e := range events {
		out = append(out, client.SandboxEvent{
			ID: e.ID, SandboxID: e.SandboxID, EventType: e.Type, EventData: orObject(e.Data), Source: e.Source,
			CreatedAt: e.CreatedAt,
			Omitted:   e.Omitted,
		})
	}
	return out
}

type getEventIn struct {
	SandboxPath
	EventID string `path:"event_id" doc:"Event ID: sandbox ID, colon, sequence. The sequence alone is accepted too"`
}

func (a *API) getEvent(ctx context.Context, in *getEventIn) (*bodyOut[client.Event], error) {
	sequence, ok := ingest.ParseEventID(in.SandboxID, in.EventID)
	if !ok {
		return nil, task.Errorf(task.CodeNotFound, "Event %s not found in sandbox %s.", clip(in.EventID), in.SandboxID)
	}
	e, err := a.deps.Readers.Event(ctx, in.SandboxID, sequence)
	if err == nil && slices.ContainsFunc(e.Omitted, func(name string) bool { return name != ingest.TranscriptField }) {
		err = a.deps.Readers.FieldsKept(ctx, in.SandboxID)
	}
	return body(e, err)
}

func (a *API) integrity(ctx context.Context, in *SandboxPath) (*bodyOut[client.Integrity], error) {
	return body(a.deps.Readers.Integrity(ctx, in.SandboxID))
}

func (a *API) eventCounts(ctx context.Context, in *SandboxPath) (*bodyOut[client.EventCounts], error) {
	return body(a.deps.Readers.EventCounts(ctx, in.SandboxID))
}

func (a *API) phaseStatus(ctx context.Context, in *SandboxPath) (*bodyOut[client.PhaseReport], error) {
	phases, activity, err := a.deps.Readers.PhaseStatus(ctx, in.SandboxID)
	return body(client.PhaseReport{
		SandboxID: in.SandboxID, Phases: phases, Activity: activity, Timestamp: time.Now().UTC(),
	}, err)
}

// clearTracked clears nothing: all state of sandboxes is in the sandbox ledger.
func (a *API) clearTracked(context.Context, *struct{}) (*bodyOut[client.ClearResult], error) {
	return body(client.ClearResult{Message: "Nothing is tracked in memory; the ledger of sandboxes stays as it is."}, nil)
}

type listEventsIn struct {
	SandboxPath
	Limit     int    `query:"limit" default:"100" minimum:"1" maximum:"500" doc:"Maximum number of events on the page"`
	Offset    int    `query:"offset" default:"0" minimum:"0" maximum:"2000000000" doc:"Legacy: number of events to skip. A cursor is faster"`
	Cursor    string `query:"cursor" maxLength:"200" doc:"Event ID from next_cursor: only older events. An unknown ID counts as none"`
	EventType string `query:"event_type" maxLength:"100" doc:"Only events of exactly this type; empty: of all types"`
}

func (a *API) listEvents(ctx context.Context, in *listEventsIn) (*bodyOut[client.SandboxEvents], error) {
	q := ingest.EventQuery{SandboxID: in.SandboxID, Type: in.EventType, Limit: in.Limit, Offset: in.Offset}
	if sequence, ok := ingest.ParseEventID(in.SandboxID, in.Cursor); ok {
		q.Before = sequence
	}
	page, err := a.deps.Readers.Events(ctx, q)
	out := client.SandboxEvents{Events: wireEvents(page.Events), TotalCount: page.Total, SandboxID: in.SandboxID}
	if page.More {
		out.NextCursor = &page.Events[len(page.Events)-1].ID
	}
	return body(out, err)
}

func orObject(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(`{}`)
	}
	return raw
}
