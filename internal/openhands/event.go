package openhands

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Kinds of events.
const (
	KindMessage     = "MessageEvent"
	KindAction      = "ActionEvent"
	KindObservation = "ObservationEvent"
	KindRejection   = "UserRejectObservation"
	KindToolError   = "AgentErrorEvent"
	KindError       = "ConversationErrorEvent"
	KindState       = "ConversationStateUpdateEvent"
	KindPause       = "PauseEvent"
	KindInterrupt   = "InterruptEvent"
	KindPrompt      = "SystemPromptEvent"
)

// SourceAgent is the source of events of the agent.
const SourceAgent = "agent"

// Event is an event of a conversation, with the fields that omoi uses.
type Event struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Source   string `json:"source"`
	Response string `json:"llm_response_id"`
	// Message of a [KindMessage].
	Message struct {
		Content []Text `json:"content"`
	} `json:"llm_message"`
	// Thought, reasoning and call of a [KindAction]. Action is empty if the call cannot be run.
	Thought   []Text          `json:"thought"`
	Reasoning string          `json:"reasoning_content"`
	Action    json.RawMessage `json:"action"`
	Summary   string          `json:"summary"`
	Tool      string          `json:"tool_name"`
	CallID    string          `json:"tool_call_id"`
	Call      struct {
		Arguments string `json:"arguments"` // JSON
	} `json:"tool_call"`
	// Observation of a [KindObservation], error of a [KindToolError].
	Observation Observation `json:"observation"`
	Error       string      `json:"error"`
	Rejection   string      `json:"rejection_reason"`
	// Code, detail and classification of a [KindError].
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Class  struct {
		Kind      string `json:"kind"`
		Retryable bool   `json:"retryable"`
	} `json:"classification"`
	// Key and value of a [KindState].
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`

	Raw json.RawMessage `json:"-"` // the whole event
}

// Text is a block of text.
type Text struct {
	Text string `json:"text"`
}

// Observation is the result of a call.
type Observation struct {
	Content  []Text `json:"content"`
	IsError  bool   `json:"is_error"`
	ExitCode *int   `json:"exit_code"` // of a command; -1: it runs on

	Raw json.RawMessage `json:"-"` // the whole observation
}

// UnmarshalJSON decodes the fields that omoi uses, and keeps the whole.
func (o *Observation) UnmarshalJSON(raw []byte) error {
	type fields Observation
	_ = json.Unmarshal(raw, (*fields)(o)) // a field of an unexpected type is skipped
	o.Raw = append(json.RawMessage(nil), raw...)
	return nil
}

// UnmarshalJSON decodes the fields that omoi uses, and keeps the whole.
func (e *Event) UnmarshalJSON(raw []byte) error {
	type fields Event
	_ = json.Unmarshal(raw, (*fields)(e)) // a field of an unexpected type is skipped
	e.Raw = append(json.RawMessage(nil), raw...)
	return nil
}

// Status returns the status that the event reports; empty: none.
func (e Event) Status() (now Status) {
	if e.Kind == KindState && e.Key == "execution_status" {
		_ = json.Unmarshal(e.Value, &now)
	}
	return now
}

// Joined returns the text of blocks.
func Joined(blocks []Text) string {
	var texts []string
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Page is a page of events.
type Page struct {
	Items []Event `json:"items"`
	Next  string  `json:"next_page_id"` // empty: this is the last page
}

const pageSize = 100

// After returns the events after the one with the ID last, oldest first; empty: all. restarted reports that the server does not know
// that event, because its log was replaced: then all events are returned.
func (c *Client) After(ctx context.Context, id, last string) (all []Event, restarted bool, err error) {
	for from := last; ; {
		query := url.Values{"limit": {strconv.Itoa(pageSize)}}
		if from != "" {
			query.Set("page_id", from)
		}
		var page Page
		if err := c.ask(ctx, call{method: http.MethodGet, path: conversation(id) + "/events/search", query: query}, &page); err != nil {
			return nil, false, err
		}
		if from == last && last != "" { // the page begins with that event, or with the first one of all
			if restarted = len(page.Items) == 0 || page.Items[0].ID != last; !restarted {
				page.Items = page.Items[1:]
			}
		}
		all = append(all, page.Items...)
		if page.Next == "" || page.Next == from {
			return all, restarted, nil
		}
		from = page.Next
	}
}
