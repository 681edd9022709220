package api

import (
	"context"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
)

// Outlines reads events without their content.
type Outlines interface {
	Outline(ctx context.Context, sandboxID string, after int64, limit int) ([]ingest.OutlineEvent, error)
	SearchEvents(ctx context.Context, q ingest.EventSearch) ([]ingest.StoredEvent, error)
}

const outlineText = "Type, tool, tool call, time, size and failure of each event after a sequence, as one list for each of them. " +
	"A response with next_after never changes, and may be cached. 404 with code beyond_last_event if after is not stored yet."

type outlineIn struct {
	SandboxPath
	After int64  `query:"after" default:"0" minimum:"0" doc:"Only events after this sequence."`
	Limit int    `query:"limit" default:"20000" minimum:"1" maximum:"20000" doc:"Maximum number of events."`
	Known string `header:"If-None-Match" doc:"ETag of an earlier response. If the content is the same, the answer is 304 without a body."`
}

// outlinePage is what callers can ask for at the same time.
type outlinePage struct {
	place

	limit int
}

func (a *API) outline(ctx context.Context, in *outlineIn) (*historyOut[client.Outline], error) {
	head, err := a.deps.EventLog.SandboxHead(ctx, in.SandboxID)
	if err == nil {
		err = stored(in.After, head)
	}
	if err != nil {
		return nil, err
	}
	key := outlinePage{place{in.SandboxID, in.After}, in.Limit}
	events, err := a.outlines.ask(ctx, key, func(ctx context.Context, p outlinePage) ([]ingest.OutlineEvent, error) {
		return a.deps.Outlines.Outline(ctx, p.id, p.after, p.limit)
	})
	if err != nil {
		return nil, err
	}
	out := outlineOf(in, events)
	full := len(events) == in.Limit
	if full {
		out.NextAfter = new(events[len(events)-1].Sequence)
	} else {
		out.LastSequence = new(max(head, in.After+int64(len(events))))
	}
	return history(out, full, in.Known)
}

// outlineOf turns rows into columns.
func outlineOf(in *outlineIn, events []ingest.OutlineEvent) client.Outline {
	n := len(events)
	out := client.Outline{
		SandboxID: in.SandboxID, After: in.After, Type: make([]int, n), Tool: make([]int, n), Call: make([]int, n),
		AtMs: make([]int64, n), Bytes: make([]int, n), Failed: []int64{},
	}
	types, tools, calls := words{}, words{}, words{}
	for i, e := range events {
		out.Type[i], out.Tool[i], out.Call[i], out.Bytes[i] = types.index(e.EventType), tools.index(e.Tool), calls.index(e.CallID), e.Bytes
		if i == 0 {
			out.StartedAt = new(e.CreatedAt.UTC())
		} else {
			out.AtMs[i] = e.CreatedAt.Sub(events[i-1].CreatedAt).Milliseconds()
		}
		if e.Failed {
			out.Failed = append(out.Failed, e.Sequence)
		}
	}
	out.EventTypes, out.Tools, out.CallIDs = orNone(types.list), orNone(tools.list), orNone(calls.list)
	return out
}

// words numbers different texts in the order of their first use.
type words struct {
	list  []string
	known map[string]int
}

// index returns the number of a text; -1 for the empty one.
func (w *words) index(text string) int {
	if text == "" {
		return -1
	}
	n, found := w.known[text]
	if !found {
		if w.known == nil {
			w.known = map[string]int{}
		}
		n = len(w.list)
		w.list, w.known[text] = append(w.list, text), n
	}
	return n
}
