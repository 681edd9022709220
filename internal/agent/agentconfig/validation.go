package agentconfig

import "strings"

// Validation says that the agent judges the work of another one.
type Validation struct {
	Round  int `json:"round"`  // from 1
	Rounds int `json:"rounds"` // at most
}

// ValidatorPrompt asks for a verdict on the work of a task; missing is what an earlier round missed.
func ValidatorPrompt(title, description, missing string) string {
	text := strings.TrimSpace(description)
	if title != "" && !strings.HasPrefix(text, title) {
		text = strings.TrimSpace(title + "\n\n" + text)
	}
	parts := []string{
		"Another agent was given the task below. Its work is what stands on the branch that is checked out here. Find out whether the work does what was asked: read what was changed, run it, and run its tests. Then give your verdict.",
		"The task was:\n\n" + text,
	}
	if missing != "" {
		parts = append(parts, "An earlier round of validation found this missing; look whether it is there now:\n\n"+missing)
	}
	return strings.Join(parts, "\n\n")
}
