// Package event knows the events that sandboxes report: their types, what each means, and what is read of their data.
package event

import (
	"encoding/json"
	"time"
)

// Event is a stored fact of a sandbox.
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

// Class says what an event means to the workflow and to the idle clock.
type Class string

// The classes of events.
const (
	// ClassMilestone changes what the workflow does next and is relayed at once.
	ClassMilestone Class = "milestone"
	// ClassWork is progress: it resets the no-work clock.
	ClassWork Class = "work"
	// ClassHeartbeat is a sign of life and nothing more.
	ClassHeartbeat Class = "heartbeat"
	// ClassOther is neither work nor life: trouble.
	ClassOther Class = "other"
)

// Trait is a property of event types. Every list of types is one of those that have a trait.
type Trait uint32

// The traits of event types.
const (
	// Work resets the no-work clock.
	Work Trait = 1 << iota
	// Beat marks heartbeats.
	Beat
	// MustArrive is of events that are kept even when the spool is full.
	MustArrive
	// Outcome ends an attempt; see [Ends].
	Outcome
	// Usage is of events that report tokens or cost.
	Usage
	// Answered shows that a model answered.
	Answered
	// Changes is of events after which files may have changed.
	Changes
	// Spec moves the progress of a run by phases.
	Spec
	// ByAgent is sent by omoi-agent.
	ByAgent
	// ByProgram may be an event line of a program that omoi-agent runs.
	ByProgram
	// ByWorker is sent by agents that connect themselves, legacy workers among them.
	ByWorker
	// ByServer is sent by the server.
	ByServer

	milestone
	completion
	failure
	worker // has the source worker

	// Milestone is of events that the workflow acts on.
	Milestone = milestone | MustArrive
	// Completion is of an agent that says it has ended its work.
	Completion = Milestone | Outcome | Work | Usage | Answered | Changes | completion
	// Failure is of an agent that cannot continue.
	Failure = Milestone | Outcome | Usage | Changes | failure
	anyone  = ByAgent | ByProgram | ByWorker
)

// Is reports whether an event type has all of the given traits. An unknown type is work, so that a new kind of progress
// never looks like silence.
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

// ClassOf returns the class of an event type.
func ClassOf(eventType string) Class {
	switch traits := traitsOf(eventType); {
	case traits&milestone != 0:
		return ClassMilestone
	case traits&Beat != 0:
		return ClassHeartbeat
	case traits&Work != 0:
		return ClassWork
	}
	return ClassOther
}

// SourceOf returns the source of an event of omoi-agent. As in OmoiOS it speaks of itself as worker, of the model as agent.
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
