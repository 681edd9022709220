package client

// TypeCheck is the task_type of what `omoi check` gives to agents. Lists for people leave such tasks out unless they
// are asked for.
const TypeCheck = "omoi_check"

// IsCheck reports whether a task was made by `omoi check`.
func IsCheck(t Task) bool { return t.TaskType == TypeCheck }
