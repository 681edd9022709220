package api

import (
	"context"
	"encoding/json"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/ingest"
)

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
