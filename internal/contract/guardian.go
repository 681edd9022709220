package contract

// CycleRef names a cycle of the guardian: the first run of its workflow.
type CycleRef struct {
	ID string `json:"id"`
}

// SandboxRange is a part of the active sandboxes, by the order of their ids: behind After and up to Upto.
type SandboxRange struct {
	CycleID string `json:"cycle_id"`
	After   string `json:"after,omitempty"`
	Upto    string `json:"upto"`
	Count   int    `json:"count"` // when the cycle began
}

// BegunCycle is the answer of [BeginGuardianCycle].
type BegunCycle struct {
	Active    int            `json:"active"`
	Stretches []SandboxRange `json:"stretches,omitempty"`
}

// Judged is the answer of [AnalyzeAgents]. While it runs, Upto is how far it has come.
type Judged struct {
	Upto     string `json:"upto,omitempty"`
	Judged   int    `json:"judged"`
	Standing int    `json:"standing,omitempty"` // whose last judgement still stands
	Failed   int    `json:"failed,omitempty"`   // that could not be judged
	Acted    int    `json:"acted,omitempty"`    // interventions that were sent
}

// CycleReport is the result of a [GuardianWorkflow].
type CycleReport struct {
	ID       string `json:"id"`
	Active   int    `json:"active"`
	Judged   int    `json:"judged"`
	Standing int    `json:"standing,omitempty"`
	Failed   int    `json:"failed,omitempty"`
	Acted    int    `json:"acted,omitempty"`
}
