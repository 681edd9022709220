package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

// Packed tells in the document that a body may be packed.
type Packed struct {
	Encoding string `header:"Content-Encoding" enum:"gzip,identity" doc:"The limits are those of the body after unpacking"`
}

type postEventIn struct {
	SandboxPath
	Packed
	Key     string `header:"Idempotency-Key" doc:"Makes a repeat harmless; client_event_id does the same. Without either a repeat is stored again, also after a 503"`
	Cut     int64  `query:"transcript_cut_bytes" minimum:"0" doc:"How many bytes of the transcript in the body, its oldest, were left out on the way"`
	RawBody []byte `contentType:"application/json"`
}

// postEvent is the callback of every worker. Unknown fields are nobody's fault here.
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
		Status: "received", SandboxID: r.sandboxID, EventType: said.Type, EventID: &receipt.EventID, Timestamp: time.Now().UTC(),
	}, nil
}

func (a *API) eventIn(r report) (client.BatchEvent, error) {
	defer a.turn.Take(len(r.body))()
	return oneEvent(r)
}

func oneEvent(r report) (said client.BatchEvent, err error) {
	lines, err := isLines(r.Request)
	if err != nil {
		return said, err
	}
	if lines {
		return said, httpError(http.StatusUnsupportedMediaType, "One event is taken as application/json; post lines to .../events/batch.")
	}
	if err := decode(r.body, &said); err != nil {
		return said, err
	}
	if said.Type == "" {
		return said, task.Invalid("event_type", "The event_type must be given.")
	}
	if r.cut > 0 && said.Type != event.AgentCompleted {
		return said, httpError(http.StatusRequestEntityTooLarge, "Only agent.completed brings a transcript that may be longer than its place.")
	}
	return said, nil
}

// leftOut is how much of the transcript in an event did not come this far, or was not kept of it.
func leftOut(r report) (int64, error) {
	const most = 1 << 40
	text := ""
	if r.URL.RawQuery != "" { // hardly ever
		text = r.URL.Query().Get("transcript_cut_bytes")
	}
	if text == "" {
		return r.cut, nil
	}
	before, err := strconv.ParseInt(text, 10, 64)
	if err != nil || before < 0 || before > most {
		return 0, task.Invalid("query.transcript_cut_bytes", "The query parameter transcript_cut_bytes must be a whole number of bytes.")
	}
	return before + r.cut, nil
}

const keyHeader = "Idempotency-Key"

// ofHeader names the header, where the id of an event came in one and is at fault.
func ofHeader(err error) error {
	const field = "client_event_id"
	if fieldOf(err) != field {
		return err
	}
	return task.Invalid(keyHeader, "%s", strings.ReplaceAll(task.MessageOf(err), "The field "+field, "The header "+keyHeader))
}

func eventOf(said client.BatchEvent) ingest.Event {
	return ingest.Event{Type: said.Type, Source: said.Source, Data: said.Data, ClientEventID: said.ClientEventID}
}

type postBatchIn struct {
	SandboxPath
	Packed
	SpoolID string `query:"spool_id" maxLength:"100" doc:"Of a body of lines, which has no place for it"`
	First   int64  `query:"first" minimum:"1" doc:"The number of the first line of a body of lines"`
	RawBody []byte `contentType:"application/json"`
}

func (a *API) postBatch(ctx context.Context, r report) (client.Acknowledged, error) {
	lines, err := isLines(r.Request)
	if err != nil {
		return client.Acknowledged{}, err
	}
	batch, err := a.batchOf(r, lines)
	if err != nil {
		return client.Acknowledged{}, err
	}
	if len(batch.Events) > maxLines {
		return client.Acknowledged{}, tooMany()
	}
	events := make([]ingest.Event, len(batch.Events))
	for n, said := range batch.Events {
		events[n] = eventOf(said)
	}
	receipt, err := a.deps.Intake.Batch(ctx, r.sandboxID, batch.SpoolID, batch.First, events)
	if lines {
		err = nameLine(err)
	}
	return client.Acknowledged{Acknowledged: receipt.Acknowledged, Duplicates: receipt.Duplicates}, err
}

func (a *API) batchOf(r report, lines bool) (batch client.Batch, err error) {
	defer a.turn.Take(len(r.body))()
	if lines {
		return batchOfLines(r)
	}
	err = decode(r.body, &batch)
	return batch, err
}

// maxLines is how many events a batch may have: what has more is refused before it costs more.
const maxLines = 1000

func tooMany() error { return task.Invalid("events", "A batch must have at most %d events.", maxLines) }

// batchOfLines reads a body of one event a line; spool and number stand in the query.
func batchOfLines(r report) (client.Batch, error) {
	query := r.URL.Query()
	batch := client.Batch{SpoolID: query.Get("spool_id")}
	if batch.SpoolID == "" {
		return batch, task.Invalid("query.spool_id", "A batch of lines needs the query parameters spool_id and first.")
	}
	var err error
	if batch.First, err = strconv.ParseInt(query.Get("first"), 10, 64); err != nil || batch.First < 1 {
		return batch, task.Invalid("query.first", "The query parameter first must be the number of the first line, from 1 on.")
	}
	body := bytes.TrimRight(r.body, " \t\r\n")
	if bytes.Count(body, []byte("\n")) >= maxLines {
		return batch, tooMany()
	}
	for line := range bytes.Lines(body) {
		var said client.BatchEvent
		if err := decode(line, &said); err != nil {
			return batch, inLine(len(batch.Events)+1, err)
		}
		batch.Events = append(batch.Events, said)
	}
	return batch, nil
}

// inLine says which line is at fault.
func inLine(n int, err error) error {
	field := "line " + strconv.Itoa(n)
	if at := fieldOf(err); at != "" {
		field += "." + at
	}
	return task.Invalid(field, "In line %d: %s", n, task.MessageOf(err))
}

func fieldOf(err error) string {
	if e, ok := errors.AsType[*task.Error](err); ok {
		return e.Field
	}
	return ""
}

// nameLine turns the place of an event in a batch into its line.
func nameLine(err error) error {
	var n int
	if _, scanErr := fmt.Sscanf(fieldOf(err), "events[%d].", &n); scanErr != nil {
		return err
	}
	place := fmt.Sprintf("events[%d].", n)
	return task.Invalid(fmt.Sprintf("line %d.%s", n+1, strings.TrimPrefix(fieldOf(err), place)),
		"In line %d: %s", n+1, strings.ReplaceAll(task.MessageOf(err), place, ""))
}

// describeLines adds the body of lines to the document.
func (a *API) describeLines(r route) {
	body := a.huma.OpenAPI().Paths[r.path].Post.RequestBody
	body.Content[linesType] = &huma.MediaType{Schema: &huma.Schema{
		Type: huma.TypeString, Description: "One event a line, each an object of the form BatchEvent; spool_id and first stand in the query.",
	}}
}
