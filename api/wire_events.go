package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

type postEventIn struct {
	SandboxPath
	Key     string `header:"Idempotency-Key" doc:"Makes a repeat harmless; client_event_id does the same"`
	RawBody []byte `contentType:"application/json"`
}

type postEventOut struct {
	Body client.ReceivedEvent
}

// postEvent is the callback of every worker. The body is read by hand: this route is hot,
// and unknown fields are nobody's fault here.
func (a *API) postEvent(ctx context.Context, in *postEventIn) (*postEventOut, error) {
	var said client.BatchEvent
	if err := decodeFast(in.RawBody, &said); err != nil {
		return nil, err
	}
	if said.Type == "" {
		return nil, task.Invalid("event_type", "The event_type must be given.")
	}
	if said.ClientEventID == "" {
		said.ClientEventID = in.Key
	}
	receipt, err := a.deps.Intake.Single(ctx, in.SandboxID, eventOf(said), a.cfg.Open)
	if err != nil {
		return nil, err
	}
	return &postEventOut{Body: client.ReceivedEvent{
		Status: "received", SandboxID: in.SandboxID, EventType: said.Type, EventID: &receipt.EventID, Timestamp: time.Now().UTC(),
	}}, nil
}

func eventOf(said client.BatchEvent) ingest.Event {
	return ingest.Event{Type: said.Type, Source: said.Source, Data: said.Data, ClientEventID: said.ClientEventID}
}

type postBatchIn struct {
	SandboxPath
	RawBody []byte `contentType:"application/json"`
}

type postBatchOut struct {
	Body client.Acknowledged
}

func (a *API) postBatch(ctx context.Context, in *postBatchIn) (*postBatchOut, error) {
	var batch client.Batch
	if err := decodeFast(in.RawBody, &batch); err != nil {
		return nil, err
	}
	events := make([]ingest.Event, len(batch.Events))
	for n, said := range batch.Events {
		events[n] = eventOf(said)
	}
	receipt, err := a.deps.Intake.Batch(ctx, in.SandboxID, batch.SpoolID, batch.First, events)
	return &postBatchOut{Body: client.Acknowledged{Acknowledged: receipt.Acknowledged, Duplicates: receipt.Duplicates}}, err
}

type listEventsIn struct {
	SandboxPath
	Limit     int    `query:"limit" default:"100" minimum:"1" maximum:"500"`
	Offset    int    `query:"offset" default:"0" minimum:"0" maximum:"2000000000"`
	EventType string `query:"event_type" maxLength:"100" doc:"Exact match"`
}

type listEventsOut struct {
	Body client.SandboxEvents
}

func (a *API) listEvents(ctx context.Context, in *listEventsIn) (*listEventsOut, error) {
	page, err := a.deps.Store.Events(ctx, ingest.EventQuery{
		SandboxID: in.SandboxID, Type: in.EventType, Limit: in.Limit, Offset: in.Offset,
	})
	out := client.SandboxEvents{Events: make([]client.SandboxEvent, 0, len(page.Events)), TotalCount: page.Total, SandboxID: in.SandboxID}
	for _, e := range page.Events {
		out.Events = append(out.Events, client.SandboxEvent{
			ID: e.ID, SandboxID: e.SandboxID, EventType: e.Type, EventData: orObject(e.Data), Source: e.Source, CreatedAt: e.CreatedAt,
		})
	}
	return &listEventsOut{Body: out}, err
}

func orObject(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(`{}`)
	}
	return raw
}
