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
	Cursor    string `query:"cursor" maxLength:"200" doc:"An event id, as next_cursor gave it: only older events; an unknown one is none"`
	EventType string `query:"event_type" maxLength:"100" doc:"Exact match"`
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
