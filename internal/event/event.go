// Package event knows the events that sandboxes report: their types, what each means, and what is read of their data.
package event

// Class says what an event means to the workflow and to the idle clock.
type Class string

// The classes of the event catalogue.
const (
	// ClassMilestone changes what the workflow does next and is relayed at once.
	ClassMilestone Class = "milestone"
	// ClassWork is progress: it resets the no-work clock. Unknown types are work, so
	// that a new kind of progress never looks like silence.
	ClassWork Class = "work"
	// ClassHeartbeat is a sign of life and nothing more.
	ClassHeartbeat Class = "heartbeat"
	// ClassOther is neither work nor life: waiting, shutting down, trouble.
	ClassOther Class = "other"
)

// The event types that omoi itself acts on. The catalogue of the wire is larger;
// everything else is stored and shown.
const (
	AgentStarted         = "agent.started"
	AgentCompleted       = "agent.completed"
	ContinuousCompleted  = "continuous.completed"
	AgentError           = "agent.error"
	AgentFailed          = "agent.failed"
	AgentWaiting         = "agent.waiting"
	AgentInterrupted     = "agent.interrupted"
	AgentShutdown        = "agent.shutdown"
	AgentStreamError     = "agent.stream_error"
	AgentHeartbeat       = "agent.heartbeat"
	Heartbeat            = "heartbeat"
	SpecHeartbeat        = "spec.heartbeat"
	AgentMessageInjected = "agent.message_injected"
	AgentMessageDropped  = "agent.message_dropped"
	AgentFileEdited      = "agent.file_edited"
	AgentToolUse         = "agent.tool_use"
	AgentToolCompleted   = "agent.tool_completed"
)

// ClassOf returns the class of an event type.
func ClassOf(eventType string) Class {
	switch eventType {
	case AgentStarted, AgentCompleted, ContinuousCompleted, AgentError, AgentFailed,
		AgentWaiting, AgentInterrupted, AgentShutdown:
		return ClassMilestone
	case AgentHeartbeat, Heartbeat, SpecHeartbeat:
		return ClassHeartbeat
	case AgentStreamError, AgentMessageDropped, "spec.phase_failed", "spec.execution_failed", "iteration.failed":
		return ClassOther
	}
	return ClassWork
}

// CountsAsWork reports whether an event of this type resets the no-work clock. Of the
// milestones only the completions are work, as in the replaced system.
func CountsAsWork(eventType string) bool {
	switch eventType {
	case AgentCompleted, ContinuousCompleted:
		return true
	}
	return ClassOf(eventType) == ClassWork
}
