package client

import (
	"context"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
)

// ShortEvent is an event whose long texts are cut.
type ShortEvent struct {
	event.Event

	Truncated []TruncatedText `json:"truncated,omitempty" nullable:"false" doc:"Texts of event_data of which only the first 2 KiB are here. Absent: none."`
}

// TruncatedText names a text that was cut.
type TruncatedText struct {
	Part  string `json:"part" doc:"JSON pointer into event_data (RFC 6901), for example /result."`
	Bytes int    `json:"bytes" doc:"Length of the whole text as UTF-8."`
}

// EventRange is the response of GET /api/v1/sandboxes/{sandbox_id}/event-range.
type EventRange struct {
	SandboxID    string       `json:"sandbox_id" doc:"Sandbox that reported the events."`
	From         int64        `json:"from" doc:"First sequence, as requested."`
	To           int64        `json:"to" doc:"Last sequence of items. It is lower than requested at the last event, or once items have 8 MiB of data."`
	LastSequence *int64       `json:"last_sequence" doc:"Number of the newest stored event: events are 1 to this number. Null: the range never changes, and may be cached."`
	Items        []ShortEvent `json:"items" nullable:"false" doc:"Every event from the first to the last sequence, in order."`
}

// EventPart is the response of GET /api/v1/sandboxes/{sandbox_id}/events/{event_id}/part.
type EventPart struct {
	Part            string `json:"part" doc:"JSON pointer, as requested."`
	Text            string `json:"text" doc:"Content from the offset: a JSON string itself, any other value as JSON."`
	OffsetBytes     int    `json:"offset_bytes" doc:"Where text begins in the whole part."`
	TotalBytes      int    `json:"total_bytes" doc:"Length of the whole part as UTF-8."`
	NextOffsetBytes *int   `json:"next_offset_bytes" doc:"Where the next piece begins. Null: text is the end."`
}

// Outline is the response of GET /api/v1/sandboxes/{sandbox_id}/outline: each list from type to bytes has one number for each event.
type Outline struct {
	SandboxID    string     `json:"sandbox_id" doc:"Sandbox that reported the events."`
	After        int64      `json:"after" doc:"Sequence before the first event, as requested: the events are after + 1, after + 2, and so on."`
	LastSequence *int64     `json:"last_sequence" doc:"Number of the newest stored event. Null: next_after says that there are more."`
	NextAfter    *int64     `json:"next_after" doc:"after of the next request. Null: these are all events up to last_sequence."`
	StartedAt    *time.Time `json:"started_at" doc:"When the first event was stored. Null: no event."`
	EventTypes   []string   `json:"event_types" nullable:"false" doc:"Texts to which the numbers in type refer, from 0."`
	Tools        []string   `json:"tools" nullable:"false" doc:"Texts to which the numbers in tool refer."`
	CallIDs      []string   `json:"call_ids" nullable:"false" doc:"IDs of tool calls to which the numbers in call refer: call and result have the same."`
	Type         []int      `json:"type" nullable:"false" doc:"Event types."`
	Tool         []int      `json:"tool" nullable:"false" doc:"Tools. -1: none."`
	Call         []int      `json:"call" nullable:"false" doc:"Tool calls. -1: none."`
	AtMs         []int64    `json:"at_ms" nullable:"false" doc:"Milliseconds from the event before to this one; 0 for the first."`
	Bytes        []int      `json:"bytes" nullable:"false" doc:"Stored size of event_data in bytes, compressed."`
	Failed       []int64    `json:"failed" nullable:"false" doc:"Sequences of failed tool calls and of errors of the agent."`
}

// EventSearch is the response of GET /api/v1/sandboxes/{sandbox_id}/event-search.
type EventSearch struct {
	SandboxID    string       `json:"sandbox_id" doc:"Sandbox that reported the events."`
	Text         string       `json:"q" doc:"Text, as requested."`
	SearchedTo   int64        `json:"searched_to" doc:"Last sequence that was searched."`
	LastSequence int64        `json:"last_sequence" doc:"Number of the newest stored event."`
	NextAfter    *int64       `json:"next_after" doc:"after of the next request. Null: all stored events were searched."`
	Items        []EventMatch `json:"items" nullable:"false" doc:"Events that contain the text, in order. Empty: none was found up to searched_to."`
}

// EventMatch is an event that contains a text.
type EventMatch struct {
	Sequence    int64     `json:"sequence" doc:"Number of the event in its sandbox."`
	Type        string    `json:"event_type" doc:"Event type, for example agent.tool_use."`
	CreatedAt   time.Time `json:"created_at" doc:"When the server stored the event."`
	Part        string    `json:"part" doc:"JSON pointer into event_data of the text with the first match, for example /result."`
	Snippet     string    `json:"snippet" doc:"About 200 characters of this text, around the match."`
	MatchOffset int       `json:"match_offset" doc:"Where the match begins in snippet, in UTF-16 code units, as JavaScript counts."`
	MatchLength int       `json:"match_length" doc:"Length of the match, in UTF-16 code units."`
}

// Outline returns type, tool, time and size of the events of a sandbox after a sequence, at most 20,000.
func (c *Client) Outline(ctx context.Context, sandboxID string, after int64) (Outline, error) {
	q := query("after", strconv.FormatInt(after, 10))
	return answer[Outline](ctx, c, call{path: item("sandboxes", sandboxID, "outline"), query: q})
}

// SearchEvents returns events of a sandbox after a sequence whose texts contain a text.
func (c *Client) SearchEvents(ctx context.Context, sandboxID, text string, after int64) (EventSearch, error) {
	q := query("q", text, "after", strconv.FormatInt(after, 10))
	return answer[EventSearch](ctx, c, call{path: item("sandboxes", sandboxID, "event-search"), query: q})
}

// EventRange returns the events of a sandbox from one sequence to another, at most 500. [task.CodeNotFound] if none of
// them is stored yet.
func (c *Client) EventRange(ctx context.Context, sandboxID string, from, to int64) (EventRange, error) {
	q := query("from", strconv.FormatInt(from, 10), "to", strconv.FormatInt(to, 10))
	return answer[EventRange](ctx, c, call{path: item("sandboxes", sandboxID, "event-range"), query: q})
}
