package task

// Phases returns the phases of tickets and tasks in their order.
func Phases() []string {
	return []string{
		"PHASE_BACKLOG", "PHASE_REQUIREMENTS", "PHASE_DESIGN", "PHASE_IMPLEMENTATION", "PHASE_TESTING",
		"PHASE_DEPLOYMENT", "PHASE_DONE", "PHASE_BLOCKED",
	}
}

// Priorities returns the priorities, the highest first.
func Priorities() []string { return []string{"CRITICAL", "HIGH", "MEDIUM", "LOW"} }

// ModeOf returns the mode of a task type for tasks that name none.
func ModeOf(taskType string) string {
	switch taskType {
	case "explore_codebase", "analyze_codebase", "analyze_requirements", "analyze_dependencies", "create_spec",
		"create_requirements", "create_design", "create_tickets", "create_tasks", "define_feature", "generate_prd",
		"research", "discover", "investigate":
		return ModeExploration
	case "validate", "validate_implementation", "review_code", "run_tests":
		return ModeValidation
	}
	return ModeImplementation
}
