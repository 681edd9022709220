package postgres

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
)

// Milestones are the event types whose data a digest needs; the data of others may be empty.
func Milestones() []string {
	return []string{
		event.AgentStarted, event.AgentCompleted, event.ContinuousCompleted, event.AgentError,
		event.AgentFailed, event.AgentWaiting, event.AgentInterrupted, event.AgentShutdown,
	}
}

// EventRow is a stored event, as far as a digest looks at it.
type EventRow struct {
	Sequence int64
	Type     string
	Data     json.RawMessage // may be empty unless the type is one of [Milestones]
	At       time.Time       // by the database's clock
}

// ErrorText is the text of an error that an agent reported, or what a validator missed. It stays in the store; the
// digest names it by ID, which is the same whenever it is built.
type ErrorText struct {
	ID      string
	Content string
}

// BuiltDigest is what [BuildDigest] makes of events.
type BuiltDigest struct {
	Digest contract.Digest
	// Types counts the events 1..Digest.To by type: the next call's types.
	Types map[string]int64
	// Errors have to be stored before the digest is sent.
	Errors []ErrorText
}

// BuildDigest tells what events mean: all of a sandbox's from sequence from on, in order and
// without a gap. types counts those before from; nil means that there are none, or that
// counters do not matter. Without events the digest ends before it begins (To is from-1).
func BuildDigest(sandboxID string, from int64, types map[string]int64, events []EventRow) BuiltDigest {
	built := BuiltDigest{
		Digest: contract.Digest{SandboxID: sandboxID, From: from, To: from - 1},
		Types:  maps.Clone(types),
	}
	if built.Types == nil {
		built.Types = make(map[string]int64)
	}
	for _, e := range events {
		built.add(e)
	}
	built.Digest.Counters = classCounters(built.Types)
	return built
}

func (b *BuiltDigest) add(e EventRow) {
	d := &b.Digest
	b.Types[e.Type]++
	d.To, d.LastBeat = e.Sequence, e.At
	if event.CountsAsWork(e.Type) {
		d.LastWork = e.At
	}
	class := event.ClassOf(e.Type)
	if class != event.ClassHeartbeat || d.LastType == "" {
		d.LastType = e.Type
	}
	if class == event.ClassMilestone {
		b.milestone(e)
	}
}

// classCounters sums up counts by type to counts by class.
func classCounters(types map[string]int64) map[string]int64 {
	classes := make(map[string]int64)
	for name, n := range types {
		classes[string(event.ClassOf(name))] += n
	}
	return classes
}

// milestoneData are the fields of a milestone on which the workflow acts.
type milestoneData struct {
	Success          *bool           `json:"success"`
	AgentType        string          `json:"agent_type"`
	ValidationPassed bool            `json:"validation_passed"`
	Feedback         json.RawMessage `json:"validation_feedback"`
	StopReason       string          `json:"stop_reason"`
	FailureClass     string          `json:"failure_class"`
	ReasonCode       string          `json:"reason_code"`
	Credential       string          `json:"credential"` // that is missing
	Class            string          `json:"class"`
	Error            json.RawMessage `json:"error"`
	Output           json.RawMessage `json:"final_output"`
	ResetAt          json.RawMessage `json:"reset_at"`
}

func (b *BuiltDigest) milestone(e EventRow) {
	data := readMilestone(e.Data)
	m := contract.Milestone{Sequence: e.Sequence, Type: e.Type}
	switch e.Type {
	case event.AgentCompleted:
		m.StopReason = data.StopReason
		m.OK = data.Success == nil || *data.Success
		m.Verdict = data.AgentType == "validator"
		switch {
		case m.Verdict:
			m.OK = data.ValidationPassed
			m.ErrorID = b.keepFeedback(e, m.OK, data)
		case !m.OK: // what it said last is why it gave up
			m.ErrorID = b.keepError(e, cmp.Or(readText(data.Error), readText(data.Output)))
		}
	case event.ContinuousCompleted:
		m.OK, m.StopReason = data.ValidationPassed, data.StopReason
		if !m.OK {
			m.Class = classOfStop(data.StopReason)
			m.ErrorID = b.keepError(e, readText(data.Error))
		}
	case event.AgentError, event.AgentFailed:
		m.Class = classOfFailure(data)
		m.StopReason = data.StopReason
		m.ResetAt = believed(data.ResetAt, e.At)
		m.ErrorID, m.EndReason = b.keepError(e, readText(data.Error)), reportedReason(data)
	}
	b.Digest.Milestones = append(b.Digest.Milestones, m)
}

func (b *BuiltDigest) keepError(e EventRow, text string) string {
	if text == "" {
		return ""
	}
	id := derivedID("error", b.Digest.SandboxID, strconv.FormatInt(e.Sequence, 10))
	b.Errors = append(b.Errors, ErrorText{ID: id, Content: text})
	return id
}

// keepFeedback keeps what a validator missed: the next agent is given it.
func (b *BuiltDigest) keepFeedback(e EventRow, passed bool, data milestoneData) string {
	if passed {
		return ""
	}
	return b.keepError(e, readText(data.Feedback))
}

// readMilestone reads what it can: a field of another type than ours must not hide the rest.
func readMilestone(raw json.RawMessage) milestoneData {
	var data milestoneData
	if json.Unmarshal(raw, &data) == nil {
		return data
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return milestoneData{}
	}
	data = milestoneData{Error: fields["error"], Output: fields["final_output"], ResetAt: fields["reset_at"], Feedback: fields["validation_feedback"]}
	for name, target := range map[string]any{
		"agent_type": &data.AgentType, "stop_reason": &data.StopReason, "failure_class": &data.FailureClass, "class": &data.Class,
		"reason_code": &data.ReasonCode, "credential": &data.Credential,
	} {
		_ = json.Unmarshal(fields[name], target) // left at its zero
	}
	if success := fields["success"]; len(success) > 0 && string(success) != "null" {
		data.Success = new(readYes(success))
	}
	data.ValidationPassed = readYes(fields["validation_passed"])
	return data
}

// readYes takes true as a text, or as a number, too.
func readYes(raw json.RawMessage) bool {
	yes, _ := strconv.ParseBool(strings.ToLower(strings.Trim(string(raw), `"`)))
	return yes
}

// readText answers a JSON string as it is, and anything else as its JSON.
func readText(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// readTime reads RFC 3339 or seconds since 1970; zero if it is neither.
func readTime(raw json.RawMessage) time.Time {
	var at time.Time
	var seconds float64
	switch {
	case len(raw) == 0 || string(raw) == "null":
	case json.Unmarshal(raw, &at) == nil:
	case json.Unmarshal(raw, &seconds) == nil && seconds > 0:
		at = time.Unix(int64(seconds), 0)
	}
	if at = at.UTC(); at.Year() < 1970 || at.Year() > 9999 { // JSON has no such time: no history could hold the digest
		return time.Time{}
	}
	return at
}

// derivedID is a UUID that is the same for the same parts.
func derivedID(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d %s", len(part), part)
	}
	b := h.Sum(nil)
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8: made by a rule of our own
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
