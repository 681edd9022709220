package task

// EventClass says what an event means to the workflow and to the idle clock.
type EventClass string

// The classes of the event catalogue.
const (
	// EventMilestone changes what the workflow does next and is relayed at once.
	EventMilestone EventClass = "milestone"
	// EventWork is progress: it resets the no-work clock. Unknown types are work, so
	// that a new kind of progress never looks like silence.
	EventWork EventClass = "work"
	// EventHeartbeat is a sign of life and nothing more.
	EventHeartbeat EventClass = "heartbeat"
	// EventOther is neither work nor life: waiting, shutting down, trouble.
	EventOther EventClass = "other"
)

// The event types that omoi itself acts on. The catalogue of the wire is larger;
// everything else is stored and shown.
const (
	EventAgentStarted         = "agent.started"
	EventAgentCompleted       = "agent.completed"
	EventContinuousCompleted  = "continuous.completed"
	EventAgentError           = "agent.error"
	EventAgentFailed          = "agent.failed"
	EventAgentWaiting         = "agent.waiting"
	EventAgentInterrupted     = "agent.interrupted"
	EventAgentShutdown        = "agent.shutdown"
	EventAgentStreamError     = "agent.stream_error"
	EventAgentHeartbeat       = "agent.heartbeat"
	EventHeartbeatBare        = "heartbeat"
	EventSpecHeartbeat        = "spec.heartbeat"
	EventAgentMessageInjected = "agent.message_injected"
	EventAgentMessageDropped  = "agent.message_dropped"
	EventAgentFileEdited      = "agent.file_edited"
	EventAgentToolUse         = "agent.tool_use"
	EventAgentToolCompleted   = "agent.tool_completed"
)

// ClassOf returns the class of an event type.
func ClassOf(eventType string) EventClass {
	switch eventType {
	case EventAgentStarted, EventAgentCompleted, EventContinuousCompleted, EventAgentError, EventAgentFailed,
		EventAgentWaiting, EventAgentInterrupted, EventAgentShutdown:
		return EventMilestone
	case EventAgentHeartbeat, EventHeartbeatBare, EventSpecHeartbeat:
		return EventHeartbeat
	case EventAgentStreamError, EventAgentMessageDropped, "spec.phase_failed", "spec.execution_failed", "iteration.failed":
		return EventOther
	}
	return EventWork
}

// CountsAsWork reports whether an event of this type resets the no-work clock. Of the
// milestones only the completions are work, as in the replaced system.
func CountsAsWork(eventType string) bool {
	switch eventType {
	case EventAgentCompleted, EventContinuousCompleted:
		return true
	}
	return ClassOf(eventType) == EventWork
}
