package contract

// Commands that suspend a task: a user pauses its project at once, or a budget is spent. [CommandRetry] resumes it.
const (
	CommandPause  = "pause"
	CommandBudget = "budget"
)
