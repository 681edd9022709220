package task

// Use is what a task or a project has used so far.
type Use struct {
	Tokens         float64  `json:"tokens"`
	USD            *float64 `json:"usd"`          // cost of models as far as it is known; null: unknown. An unknown part does not count against the budget
	CostUnknown    bool     `json:"cost_unknown"` // models without a known price were used
	WallClockS     float64  `json:"wall_clock_s"`
	SandboxSeconds float64  `json:"sandbox_s"`
}

// Spending is a budget with what was used of it.
type Spending struct {
	Budget Budget `json:"budget"`
	Used   Use    `json:"used"`
	// TaskIDs are the tasks that were parked for it and were asked to go on, as it was raised.
	TaskIDs []string `json:"task_ids" nullable:"false"`
}
