package contract

// BegunConducting is the answer of [BeginConductorCycle].
type BegunConducting struct {
	Organizations int            `json:"organizations"`
	Agents        int            `json:"agents"`
	Stretches     []SandboxRange `json:"stretches,omitempty"` // of organizations, by the order of their ids
}

// Conducted is the answer of [AnalyzeOrganizations]. While it runs, Upto is how far it has come.
type Conducted struct {
	Upto       string `json:"upto,omitempty"`
	Analysed   int    `json:"analysed"`
	Failed     int    `json:"failed,omitempty"`
	Duplicates int    `json:"duplicates,omitempty"`
}

// ConductReport is the result of a [ConductorWorkflow].
type ConductReport struct {
	ID            string `json:"id"`
	Organizations int    `json:"organizations"`
	Agents        int    `json:"agents"`
	Analysed      int    `json:"analysed"`
	Failed        int    `json:"failed,omitempty"`
	Duplicates    int    `json:"duplicates,omitempty"`
}
