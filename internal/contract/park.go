package contract

// Commands that park a task: a person stops its project at once, or a budget is spent. [CommandRetry] lets it go on.
const (
	CommandPause  = "pause"
	CommandBudget = "budget"
)
