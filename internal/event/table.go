package event

// The event types that omoi knows. OmoiOS workers send more, such as spec.progress: those are stored and shown.
const (
	AgentStarted              = "agent.started"
	AgentHeartbeat            = "agent.heartbeat"
	Heartbeat                 = "heartbeat"
	SpecHeartbeat             = "spec.heartbeat"
	AgentAssistantMessage     = "agent.assistant_message"
	AgentMessage              = "agent.message"
	AgentThinking             = "agent.thinking"
	AgentSystemMessage        = "agent.system_message"
	AgentUserMessage          = "agent.user_message"
	AgentToolUse              = "agent.tool_use"
	AgentToolCompleted        = "agent.tool_completed"
	AgentToolRefused          = "agent.tool_refused"
	AgentToolAllowed          = "agent.tool_allowed"
	AgentToolUnchecked        = "agent.tool_unchecked"
	AgentToolResult           = "agent.tool_result"
	AgentUserToolResult       = "agent.user_tool_result"
	AgentSubagentInvoked      = "agent.subagent_invoked"
	AgentSubagentCompleted    = "agent.subagent_completed"
	AgentSkillInvoked         = "agent.skill_invoked"
	AgentSkillCompleted       = "agent.skill_completed"
	AgentFileEdited           = "agent.file_edited"
	AgentFilesUnreported      = "agent.files_unreported"
	AgentCommitted            = "agent.committed"
	AgentCompleted            = "agent.completed"
	AgentError                = "agent.error"
	AgentFailed               = "agent.failed"
	AgentStreamError          = "agent.stream_error"
	AgentWaiting              = "agent.waiting"
	AgentMessageInjected      = "agent.message_injected"
	AgentMessageDropped       = "agent.message_dropped"
	AgentInterrupted          = "agent.interrupted"
	AgentShutdown             = "agent.shutdown"
	AgentSetupStarted         = "agent.setup_started"
	AgentSetupCompleted       = "agent.setup_completed"
	AgentResumeFailed         = "agent.resume_failed"
	AgentCheckpoint           = "agent.checkpoint"
	AgentCheckpointFailed     = "agent.checkpoint_failed"
	AgentRestored             = "agent.restored"
	AgentRestoreFailed        = "agent.restore_failed"
	AgentEventsDropped        = "agent.events_dropped"
	AgentSpoolDegraded        = "agent.spool_degraded"
	ContinuousStarted         = "continuous.started"
	ContinuousCompleted       = "continuous.completed"
	IterationStarted          = "iteration.started"
	IterationCompletionSignal = "iteration.completion_signal"
	IterationValidation       = "iteration.validation"
	IterationCompleted        = "iteration.completed"
	IterationFailed           = "iteration.failed"
	SpecPhaseStarted          = "spec.phase_started"
	SpecPhaseCompleted        = "spec.phase_completed"
	SpecPhaseFailed           = "spec.phase_failed"
	SpecExecutionCompleted    = "spec.execution_completed"
	SpecExecutionFailed       = "spec.execution_failed"
	SpecCriterionMet          = "spec.criterion_met"
)

// Entry is a row of the table of events.
type Entry struct {
	Type   string
	Traits Trait
}

// Table returns the table of event types. Package catalog holds their descriptions and fields.
func Table() []Entry { return table[:] }

//nolint:gochecknoglobals // a constant table
var table = [...]Entry{
	{AgentStarted, Milestone | ByAgent | ByWorker | worker},
	{AgentHeartbeat, Liveness | ByAgent | ByWorker | worker},
	{Heartbeat, Liveness | ByWorker},
	{SpecHeartbeat, Liveness | ByWorker},
	{AgentAssistantMessage, Work | Usage | anyone},
	{AgentMessage, Work | Acted | anyone},
	{AgentThinking, Work | anyone},
	{AgentSystemMessage, Work | anyone},
	{AgentUserMessage, Work | anyone},
	{AgentToolUse, Work | Acted | Answered | anyone},
	{AgentToolCompleted, Work | Acted | Answered | Changes | anyone},
	{AgentToolRefused, Background | ByAgent},
	{AgentToolAllowed, Background | ByAgent},
	{AgentToolUnchecked, Background | ByAgent | worker},
	{AgentToolResult, Work | Acted | Changes | anyone},
	{AgentUserToolResult, Work | Acted | anyone},
	{AgentSubagentInvoked, Work | Acted | anyone},
	{AgentSubagentCompleted, Work | Acted | anyone},
	{AgentSkillInvoked, Work | Acted | anyone},
	{AgentSkillCompleted, Work | Acted | anyone},
	{AgentFileEdited, Work | Acted | anyone},
	{AgentFilesUnreported, Work | Acted | ByAgent | ByProgram},
	{AgentCommitted, Work | Acted | ByAgent | worker},
	{AgentCompleted, Completion | anyone},
	{AgentError, Failure | anyone},
	{AgentFailed, Failure | ByProgram | ByWorker | ByServer},
	{AgentStreamError, anyone},
	{AgentWaiting, Milestone | ByAgent | ByWorker},
	{AgentMessageInjected, Work | MustArrive | ByAgent | ByWorker},
	{AgentMessageDropped, MustArrive | ByAgent},
	{AgentInterrupted, Milestone | ByAgent | ByWorker},
	{AgentShutdown, Milestone | ByAgent | ByWorker | worker},
	{AgentSetupStarted, Work | ByAgent},
	{AgentSetupCompleted, Work | ByAgent},
	{AgentResumeFailed, Work | ByAgent | worker},
	{AgentCheckpoint, Background | ByAgent | worker},
	{AgentCheckpointFailed, Background | ByAgent | worker},
	{AgentRestored, Work | ByAgent | worker},
	{AgentRestoreFailed, Work | ByAgent | worker},
	{AgentEventsDropped, Work | MustArrive | ByAgent | worker},
	{AgentSpoolDegraded, Work | ByAgent},
	{ContinuousStarted, Work | ByAgent | ByWorker | worker},
	{ContinuousCompleted, Completion | anyone},
	{IterationStarted, Work | Usage | ByAgent | ByWorker},
	{IterationCompletionSignal, Work | ByAgent | ByWorker},
	{IterationValidation, Work | Changes | ByAgent | ByWorker},
	{IterationCompleted, Work | Usage | Answered | Changes | ByAgent | ByWorker},
	{IterationFailed, Usage | Changes | ByAgent | ByWorker},
	{SpecPhaseStarted, Work | Acted | Spec | ByProgram | ByWorker},
	{SpecPhaseCompleted, Work | Acted | Spec | ByProgram | ByWorker},
	{SpecPhaseFailed, ByProgram | ByWorker},
	{SpecExecutionCompleted, Work | Acted | Spec | ByProgram | ByWorker},
	{SpecExecutionFailed, Spec | ByProgram | ByWorker},
	{SpecCriterionMet, Work | Acted | Spec | ByProgram | ByWorker},
}

//nolint:gochecknoglobals // made of the table once
var traits = func() map[string]Trait {
	known := make(map[string]Trait, len(table))
	for _, e := range table {
		known[e.Type] = e.Traits
	}
	return known
}()

func traitsOf(eventType string) Trait {
	if known, ok := traits[eventType]; ok {
		return known
	}
	return Work | anyone
}
