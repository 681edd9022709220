// Package event defines the events that sandboxes report: their types, their meaning, and the fields that omoi reads.
package event

import (
	"encoding/json"
	"time"
)

// Event is a stored event of a sandbox.
type Event struct {
	ID        string          `json:"id" doc:"Event ID: sandbox ID, colon, sequence."`
	SandboxID string          `json:"sandbox_id" doc:"Sandbox that reported the event."`
	Attempt   int             `json:"attempt" doc:"Number of the sandbox's attempt in its task; 0: unmanaged sandbox."`
	Sequence  int64           `json:"sequence" doc:"Number of the event in its sandbox: 1, 2, 3, ... without gaps."`
	Type      string          `json:"event_type" doc:"Event type, for example agent.tool_use; unknown types are stored too."`
	Source    string          `json:"source" enum:"agent,worker,system" doc:"Sender of the event: the agent, its supervisor (worker), or the server (system). More values may be added."`
	Data      json.RawMessage `json:"event_data"`
	Late      bool            `json:"late" doc:"true: the event came after the end of its attempt and changes no task."`
	CreatedAt time.Time       `json:"created_at" doc:"When the server stored the event."`
	Omitted   []string        `json:"omitted,omitempty" nullable:"false" doc:"Large fields that event_data lacks, * for all: GET .../events/{event_id} returns them. Absent: none."`
}

// Class is the meaning of an event to the workflow and the idle timers.
type Class string

// The classes of events.
const (
	// ClassMilestone changes what the workflow does next and is relayed at once.
	ClassMilestone Class = "milestone"
	// ClassWork is progress. It resets the no-work timer.
	ClassWork Class = "work"
	// ClassHeartbeat is a sign of life without progress.
	ClassHeartbeat Class = "heartbeat"
	// ClassOther is neither progress nor a sign of life, for example an error.
	ClassOther Class = "other"
)

// Trait is a property of event types. Each list of event types is made from traits.
type Trait uint32

// The traits of event types.
const (
	// Work resets the no-work timer.
	Work Trait = 1 << iota
	// Liveness marks heartbeats.
	Liveness
	// MustArrive marks events that are kept even if the spool is full.
	MustArrive
	// Outcome marks events that end an attempt; see [Ends].
	Outcome
	// Usage marks events that report tokens or cost.
	Usage
	// Answered marks events which show that a model answered.
	Answered
	// Changes marks events after which files may have changed.
	Changes
	// Acted marks events which show that an agent called a tool, changed a file, or wrote text.
	Acted
	// Spec marks events about the progress of a run by phases.
	Spec
	// Background marks events that come without an act of the agent, or later than it, so that an agent that waits still waits
	// after them.
	Background
	// ByAgent marks events of omoi-agent.
	ByAgent
	// ByProgram marks event lines that a program under omoi-agent may write.
	ByProgram
	// ByWorker marks events of external agents, for example legacy workers.
	ByWorker
	// ByServer marks events of the server.
	ByServer

	milestone
	completion
	failure
	worker // has the source worker

	// Milestone marks events on which the workflow acts.
	Milestone = milestone | MustArrive
	// Completion marks events of an agent that ended its work.
	Completion = Milestone | Outcome | Work | Usage | Answered | Changes | completion
	// Failure marks events of an agent that cannot continue.
	Failure = Milestone | Outcome | Usage | Changes | failure
	anyone  = ByAgent | ByProgram | ByWorker
)

// Is reports whether an event type has all of the given traits. An unknown type counts as work, so that a new kind of
// progress never looks like silence.
func Is(eventType string, traits Trait) bool { return traitsOf(eventType)&traits == traits }

// Types returns the event types that have all of the given traits.
func Types(traits Trait) []string {
	var types []string
	for _, e := range Table() {
		if e.Traits&traits == traits {
			types = append(types, e.Type)
		}
	}
	return types
}

// Idle returns the event types that do not show that an agent acted. An unknown type is not among them.
func Idle() []string {
	var types []string
	for _, e := range Table() {
		if e.Traits&Acted == 0 {
			types = append(types, e.Type)
		}
	}
	return types
}

// ClassOf returns the class of an event type.
func ClassOf(eventType string) Class {
	switch traits := traitsOf(eventType); {
	case traits&milestone != 0:
		return ClassMilestone
	case traits&Liveness != 0:
		return ClassHeartbeat
	case traits&Work != 0:
		return ClassWork
	}
	return ClassOther
}

// SourceOf returns the source of an event of omoi-agent. As in OmoiOS, events about omoi-agent itself have the source
// worker, and events about the model the source agent.
func SourceOf(eventType string) string {
	if Is(eventType, worker) {
		return "worker"
	}
	return "agent"
}

// Ends reports whether an event type ends the attempt. In continuous mode agent.completed ends an iteration only.
func Ends(eventType string, continuous bool) bool {
	return Is(eventType, Outcome) && (!continuous || eventType != AgentCompleted)
}
