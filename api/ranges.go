package api

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	maxRange  = 500 // events
	rangeText = "Events by sequence, at most 500. Texts over 2 KiB are cut and named in truncated; GET .../events/{event_id}/part returns them. " +
		"A range up to the last sequence or before never changes, and may be cached. 404 with code beyond_last_event if no event of the range is stored yet."
)

func (a *API) registerRanges() {
	sandbox := a.group(tagSandboxes, "/api/v1/sandboxes/{sandbox_id}")
	unchanged := map[int]any{http.StatusNotModified: nil}
	add(sandbox.on(accessInspect, "GET /event-range", "get-event-range", "Get a range of events"), a.eventRange,
		details{more: rangeText, packed: true, also: unchanged})
	add(sandbox.on(accessInspect, "GET /outline", "get-outline", "Get an outline of events"), a.outline,
		details{more: outlineText, packed: true, also: unchanged, fails: []int{http.StatusGone}})
	add(sandbox.on(accessInspect, "GET /event-search", "search-events", "Get events that contain a text"), a.searchEvents,
		details{more: searchText, packed: true, fails: []int{http.StatusGone}})
	add(sandbox.on(accessInspect, "GET /events/{event_id}/part", "get-event-part", "Get a part of an event"), a.eventPart,
		details{more: "A text of an event, or another part as JSON, from an offset. Large fields are included. 410 after retention removed them.", packed: true})
}

type eventRangeIn struct {
	SandboxPath
	From  int64  `query:"from" required:"true" minimum:"1" doc:"First sequence."`
	To    int64  `query:"to" required:"true" minimum:"1" doc:"Last sequence, at most 499 more than from."`
	Known string `header:"If-None-Match" doc:"ETag of an earlier response. If the range is the same, the answer is 304 without a body."`
}

func (a *API) eventRange(ctx context.Context, in *eventRangeIn) (*historyOut[client.EventRange], error) {
	if in.To < in.From || in.To-in.From >= maxRange {
		return nil, task.Invalid("to", "Invalid range %d to %d: it must have 1 to %d events.", in.From, in.To, maxRange)
	}
	head, err := a.deps.EventLog.SandboxHead(ctx, in.SandboxID)
	if err != nil {
		return nil, err
	}
	if err := stored(in.From, head); err != nil {
		return nil, err
	}
	out := client.EventRange{SandboxID: in.SandboxID, From: in.From, To: min(in.To, head)}
	final := in.To <= head
	if !final {
		out.LastSequence = &head
	}
	out.Items, err = a.shortEvents(ctx, in.SandboxID, in.From, out.To)
	if err != nil {
		return nil, err
	}
	if n := len(out.Items); n > 0 {
		out.To = out.Items[n-1].Sequence
	}
	return history(out, final, in.Known)
}

// stored returns [task.CodeNotFound] for an event after the last one.
func stored(sequence, head int64) error {
	if sequence <= head {
		return nil
	}
	return task.Errorf(task.CodeNotFound, "There is no event %d: the last event is %d.", sequence, head).WithKind(task.KindBeyondLastEvent)
}

// shortEvents reads a range piece by piece, so that only short events are in memory. It ends earlier once the events have
// [ingest.MaxPage] bytes of data.
func (a *API) shortEvents(ctx context.Context, sandboxID string, from, to int64) ([]client.ShortEvent, error) {
	out := []client.ShortEvent{}
	for size := 0; from <= to && size < ingest.MaxPage; {
		events, err := a.deps.EventLog.EventsAfter(ctx, sandboxID, from-1, int(min(streamBatch, to-from+1)))
		if err != nil || len(events) == 0 {
			return out, err
		}
		for _, e := range events {
			out = append(out, shortEvent(e))
			size += len(out[len(out)-1].Data)
		}
		from = events[len(events)-1].Sequence + 1
	}
	return out, nil
}

type eventPartIn struct {
	SandboxPath
	EventID string `path:"event_id" doc:"Event ID: sandbox ID, colon, sequence. The sequence alone is accepted too"`
	Part    string `query:"part" required:"true" maxLength:"1000" doc:"JSON pointer into event_data, as truncated names the parts, for example /result; /name for a field in omitted."`
	Offset  int    `query:"offset_bytes" default:"0" minimum:"0" maximum:"2000000000" doc:"Where to begin, in bytes of UTF-8."`
	Limit   int    `query:"limit_bytes" default:"65536" minimum:"4" maximum:"1048576" doc:"Maximum number of bytes; a character is never cut."`
}

func (a *API) eventPart(ctx context.Context, in *eventPartIn) (*bodyOut[client.EventPart], error) {
	e, err := a.getEvent(ctx, &getEventIn{in.SandboxPath, in.EventID})
	if err != nil {
		return nil, err
	}
	text, found := partOf(e.Body.Data, in.Part)
	if !found {
		return nil, task.Errorf(task.CodeNotFound, "Event %s has no part %q. Next: use a JSON pointer into event_data", e.Body.ID, clip(in.Part))
	}
	piece, begin := runesOf(text, in.Offset, in.Limit)
	out := client.EventPart{Part: in.Part, Text: piece, OffsetBytes: begin, TotalBytes: len(text)}
	if end := begin + len(piece); end < len(text) {
		out.NextOffsetBytes = new(end)
	}
	return body(out, nil)
}
