package contract

// ReaperTarget is a provider to be asked for its sandboxes, and the queue on which to ask it.
type ReaperTarget struct {
	Provider string `json:"provider"`
	Queue    string `json:"queue"`
}

// ListReaperTargetsResult is the answer of [ListReaperTargets].
type ListReaperTargetsResult struct {
	Targets []ReaperTarget `json:"targets,omitempty"`
}

// FindOrphansInput is the input of [FindOrphans]; without a provider the ledger alone is asked.
type FindOrphansInput struct {
	Provider string `json:"provider,omitempty"`
}

// ReconcileTasksResult is the answer of [ReconcileTasks].
type ReconcileTasksResult struct {
	Abandoned int `json:"abandoned"`
}

// PauseIdleReaperResult is the answer of [PauseIdleReaper].
type PauseIdleReaperResult struct {
	Paused bool `json:"paused"`
}

// ReaperReport is the result of a [ReaperWorkflow].
type ReaperReport struct {
	Alive     int    `json:"alive"`
	Orphans   int    `json:"orphans"`
	Abandoned int    `json:"abandoned"`
	Alarm     string `json:"alarm,omitempty"`
	Paused    bool   `json:"paused,omitempty"`
}
