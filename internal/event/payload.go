package event

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Read decodes an event's data, which may be stored in parts. A field of an unexpected type stays zero and does not
// affect other fields.
func Read[T any](parts ...json.RawMessage) (payload T) {
	for _, part := range parts {
		_ = json.Unmarshal(part, &payload)
	}
	return payload
}

// End holds the fields of an event that ends an attempt or an iteration.
type End struct {
	Success          *Flag  `json:"success"`
	AgentType        string `json:"agent_type"`
	ValidationPassed Flag   `json:"validation_passed"`
	Feedback         Text   `json:"validation_feedback"`
	StopReason       string `json:"stop_reason"`
	FailureClass     string `json:"failure_class"`
	ReasonCode       string `json:"reason_code"`
	Credential       string `json:"credential"` // missing credential
	Class            string `json:"class"`
	Error            Text   `json:"error"`
	Output           Text   `json:"final_output"`
	Turns            Text   `json:"turns"` // empty: the event has no account of the run
	ResetAt          Time   `json:"reset_at"`
}

// Delivery holds the fields of an event about messages.
type Delivery struct {
	MessageID string   `json:"message_id"`
	Kind      string   `json:"message_type"`
	Content   string   `json:"content"`
	Reason    string   `json:"reason"`
	InReplyTo string   `json:"in_reply_to"`
	Answered  []string `json:"message_ids"`   // nil: a legacy worker does not name them
	Question  string   `json:"question"`      // of a waiting agent to a user; empty: none
	Asks      string   `json:"question_kind"` // see [task.Question]
	Options   []string `json:"options"`       // answers that the agent proposes
}

// Sign holds the fields of a heartbeat.
type Sign struct {
	Status string  `json:"status"`
	Tool   string  `json:"current_tool"`
	ToolMS float64 `json:"tool_age_ms"`
}

// Call holds the fields of the start of a tool call.
type Call struct {
	Tool string `json:"tool"`
}

// Flag is a boolean that may also be sent as a string or a number.
type Flag bool

// UnmarshalJSON never fails.
func (f *Flag) UnmarshalJSON(raw []byte) error {
	yes, _ := strconv.ParseBool(strings.ToLower(strings.Trim(string(raw), `"`)))
	*f = Flag(yes)
	return nil
}

// Text is a string, or the JSON of any other value.
type Text string

// UnmarshalJSON never fails.
func (t *Text) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	*t = Text(text)
	return nil
}

// Time is RFC 3339 or seconds since 1970; zero for anything else.
type Time struct{ time.Time }

// UnmarshalJSON never fails. A year that JSON cannot express is zero.
func (t *Time) UnmarshalJSON(raw []byte) error {
	var at time.Time
	var seconds float64
	if json.Unmarshal(raw, &at) != nil && json.Unmarshal(raw, &seconds) == nil && seconds > 0 {
		at = time.Unix(int64(seconds), 0)
	}
	if at = at.UTC(); at.Year() >= 1970 && at.Year() <= 9999 {
		t.Time = at
	}
	return nil
}

// Millis converts milliseconds reported by an agent: never below zero, and at most a year, so that sums cannot
// overflow.
func Millis(n float64) time.Duration {
	const year = 365 * 24 * time.Hour
	return time.Duration(min(max(n, 0), float64(year.Milliseconds())) * float64(time.Millisecond))
}
