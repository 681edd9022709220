package task

// Unsaid is what people are told of a fact that came without a reason.
func (f Fact) Unsaid() string {
	switch {
	case f.Kind == FactAgentFailed:
		return "Task execution failed" // as the replaced system says it
	case f.Kind == FactCompleted && !f.OK:
		return "The agent ended without success and did not say why."
	case f.Kind == FactContinuousCompleted && !f.OK:
		return "The agent ended without a passed validation and did not say why."
	}
	return string(f.Kind)
}
