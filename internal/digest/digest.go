// Package digest summarizes events of a sandbox in one signal to the task's workflow.
package digest

import (
	"cmp"
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// Row holds the fields of a stored event that a digest uses.
type Row struct {
	Sequence int64
	Type     string
	Data     json.RawMessage // may be empty unless the type is a milestone
	At       time.Time       // the database's time
}

// ErrorText is the text of an agent's error or of a validator's feedback. It stays in the store. The digest refers to
// it by an ID that is the same each time the digest is built.
type ErrorText struct {
	ID      string
	Content string
}

// Built is the result of [Build].
type Built struct {
	Digest contract.Digest
	// Types counts the events 1..Digest.To by type: the argument types of the next call.
	Types map[string]int64
	// Errors must be stored before the digest is sent.
	Errors []ErrorText
}

// Build summarizes events: all events of a sandbox from sequence from on, in order and without gaps. types counts the
// earlier events by type; nil means that there are none, or that counters do not matter. Without events the digest is
// empty: To is from-1.
func Build(sandboxID string, from int64, types map[string]int64, events []Row) Built {
	built := Built{
		Digest: contract.Digest{SandboxID: sandboxID, From: from, To: from - 1},
		Types:  maps.Clone(types),
	}
	if built.Types == nil {
		built.Types = make(map[string]int64)
	}
	for _, e := range events {
		built.add(e)
	}
	built.Digest.Counters = make(map[string]int64)
	for name, n := range built.Types {
		built.Digest.Counters[string(event.ClassOf(name))] += n
	}
	return built
}

func (b *Built) add(e Row) {
	d := &b.Digest
	b.Types[e.Type]++
	d.To, d.LastHeartbeat = e.Sequence, e.At
	if event.Is(e.Type, event.Work) {
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

func (b *Built) milestone(e Row) {
	data := event.Read[event.End](e.Data)
	m := contract.Milestone{Sequence: e.Sequence, Type: e.Type}
	switch e.Type {
	case event.AgentCompleted:
		m.StopReason = data.StopReason
		m.OK = data.Success == nil || bool(*data.Success)
		m.Verdict = data.AgentType == "validator"
		switch {
		case m.Verdict:
			m.OK = bool(data.ValidationPassed)
			if !m.OK {
				m.ErrorID = b.keepError(e, data.Feedback) // the next agent gets the feedback
			}
		case !m.OK: // its last message says why it gave up
			m.ErrorID = b.keepError(e, cmp.Or(data.Error, data.Output))
		}
	case event.ContinuousCompleted:
		m.OK, m.StopReason = bool(data.ValidationPassed), data.StopReason
		if !m.OK {
			m.Class = task.ClassAgentError
			if strings.HasPrefix(data.StopReason, "max_") { // a limit, for example max_iterations_reached
				m.Class = task.ClassStopped
			}
			m.ErrorID = b.keepError(e, data.Error)
		}
	case event.AgentError, event.AgentFailed:
		m.Class = classOfFailure(data)
		m.StopReason = data.StopReason
		m.ResetAt = ResetAt(data, e.At)
		m.ErrorID, m.EndReason = b.keepError(e, data.Error), reportedReason(data)
	case event.AgentWaiting:
		m.Question = event.Read[event.Delivery](e.Data).Question != ""
	}
	b.Digest.Milestones = append(b.Digest.Milestones, m)
}

func (b *Built) keepError(e Row, text event.Text) string {
	if text == "" {
		return ""
	}
	id := task.DerivedID("error", b.Digest.SandboxID, strconv.FormatInt(e.Sequence, 10))
	b.Errors = append(b.Errors, ErrorText{ID: id, Content: string(text)})
	return id
}

// maxReset is longer than any rate limit of a model provider.
const maxReset = 31 * 24 * time.Hour

// ResetAt returns the reported time at which a rate limit resets; zero if none is reported or it is implausible.
func ResetAt(said event.End, now time.Time) time.Time {
	if said.ResetAt.Sub(now) > maxReset {
		return time.Time{}
	}
	return said.ResetAt.Time
}
