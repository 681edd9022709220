package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

// Packed documents that a body may be compressed.
type Packed struct {
	Encoding string `header:"Content-Encoding" enum:"gzip,identity" doc:"Compression of the body; limits apply to the decompressed body"`
}

type postEventIn struct {
	SandboxPath
	Packed
	Key     string `header:"Idempotency-Key" doc:"Key of the event, as client_event_id: a duplicate is stored once. Without a key every request is stored, also after a 503"`
	Cut     int64  `query:"transcript_cut_bytes" minimum:"0" doc:"Number of the oldest bytes of the transcript that a proxy left out of the body; default 0"`
	RawBody []byte `contentType:"application/json"`
}

// postEvent is the callback of every worker. Unknown fields are ignored.
func (a *API) postEvent(ctx context.Context, r report) (client.ReceivedEvent, error) {
	said, err := a.eventIn(r)
	if err != nil {
		return client.ReceivedEvent{}, err
	}
	one := eventOf(said)
	if one.TranscriptCut, err = leftOut(r); err != nil {
		return client.ReceivedEvent{}, err
	}
	if one.ClientEventID == "" {
		one.ClientEventID = r.Header.Get(keyHeader)
	}
	receipt, err := a.deps.Intake.Single(ctx, r.sandboxID, one, a.cfg.Open)
	if err != nil && said.ClientEventID == "" {
		err = ofHeader(err)
	}
	if err != nil {
		return client.ReceivedEvent{}, err
	}
	return client.ReceivedEvent{
		Status: "received", SandboxID: r.sandboxID, EventType: said.Type, EventID: &receipt.EventID,
		Timestamp: time.Now().UTC(),
	}, nil
}

func (a *API) eventIn(r report) (client.CreateEventRequest, error) {
	defer a.turn.Take(len(r.body))()
	return oneEvent(r)
}

func oneEvent(r report) (said client.CreateEventRequest, err error) {
	if err := decode(r.body, &said); err != nil {
		return said, err
	}
	if said.Type == "" {
		return said, task.Invalid("event_type", "Missing field event_type: expected the type of the event.")
	}
	if r.cut > 0 && said.Type != event.AgentCompleted {
		return said, httpError(http.StatusRequestEntityTooLarge,
			"The event is too long: only agent.completed may have a longer transcript.")
	}
	return said, nil
}

// leftOut returns the number of bytes of the transcript that were cut off, here or by the sender.
func leftOut(r report) (int64, error) {
	const most = 1 << 40
	text := ""
	if r.URL.RawQuery != "" { // rare
		text = r.URL.Query().Get("transcript_cut_bytes")
	}
	if text == "" {
		return r.cut, nil
	}
	before, err := strconv.ParseInt(text, 10, 64)
	if err != nil || before < 0 || before > most {
		return 0, task.Invalid("query.transcript_cut_bytes",
			"The query parameter transcript_cut_bytes must be a whole number of bytes.")
	}
	return before + r.cut, nil
}

const keyHeader = "Idempotency-Key"

// ofHeader makes an error name the header, if the event ID came in the header.
func ofHeader(err error) error {
	const field = "client_event_id"
	if e, ok := errors.AsType[*task.Error](err); !ok || e.Field != field {
		return err
	}
	return task.Invalid(keyHeader, "%s",
		strings.ReplaceAll(task.MessageOf(err), "The field "+field, "The header "+keyHeader))
}

func eventOf(said client.CreateEventRequest) ingest.Event {
	return ingest.Event{Type: said.Type, Source: said.Source, Data: said.Data, ClientEventID: said.ClientEventID}
}

type postBatchIn struct {
	SandboxPath
	Packed
	RawBody []byte `contentType:"application/json"`
}

func (a *API) postBatch(ctx context.Context, r report) (client.EventBatchResult, error) {
	batch, err := a.batchOf(r)
	if err != nil {
		return client.EventBatchResult{}, err
	}
	events := make([]ingest.Event, len(batch.Events))
	for n, said := range batch.Events {
		events[n] = eventOf(said)
	}
	receipt, err := a.deps.Intake.Batch(ctx, r.sandboxID, batch.SpoolID, batch.First, events)
	return client.EventBatchResult{Acknowledged: receipt.Acknowledged, Duplicates: receipt.Duplicates}, err
}

func (a *API) batchOf(r report) (batch client.CreateEventBatchRequest, err error) {
	defer a.turn.Take(len(r.body))()
	err = decode(r.body, &batch)
	return batch, err
}
