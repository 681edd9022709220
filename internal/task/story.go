package task

// Story is what is known of how a task was done when its work is published.
type Story struct {
	Task    Task
	Receipt SandboxReceipt
	Output  string // the agent's last words; empty: it said none
	// TestsPassed is what the agent said of the tests that it ran; nil: it said nothing.
	TestsPassed *bool
	Spoken      []Spoken
}

// Spoken is how often somebody spoke to the agents of a task.
type Spoken struct {
	By    string `json:"by"`   // person, guardian, system, agent
	Kind  string `json:"kind"` // user_message, interrupt, guardian_nudge, system
	Count int    `json:"count"`
}
