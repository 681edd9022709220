package contract

// CycleRef names a cycle of the guardian or of the conductor: the first run of its workflow.
type CycleRef struct {
	ID string `json:"id"`
}

// Range is a part of what a cycle analyzes, sandboxes or organizations in the order of their IDs: behind After and up to Upto.
type Range struct {
	CycleID string `json:"cycle_id"`
	After   string `json:"after,omitempty"`
	Upto    string `json:"upto"`
	Count   int    `json:"count"` // when the cycle began
}

// BegunCycle is the answer of [BeginGuardianCycle] and [BeginConductorCycle].
type BegunCycle struct {
	Agents int     `json:"agents"`
	Ranges []Range `json:"ranges,omitempty"`
}

// CycleProgress is the answer of [AnalyzeAgents] and [AnalyzeOrganizations]. While they run, Upto is how far they have come.
type CycleProgress struct {
	Upto          string `json:"upto,omitempty"`
	Analyzed      int    `json:"analyzed"`
	Fresh         int    `json:"fresh,omitempty"`  // whose last analysis is recent enough
	Failed        int    `json:"failed,omitempty"` // that could not be analyzed
	Interventions int    `json:"interventions,omitempty"`
	Duplicates    int    `json:"duplicates,omitempty"`
}

// CycleReport is the result of a [GuardianWorkflow] or [ConductorWorkflow].
type CycleReport struct {
	ID     string `json:"id"`
	Agents int    `json:"agents"`
	CycleProgress
}
