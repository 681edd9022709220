package task

// DiagnosisQuery selects diagnoses.
type DiagnosisQuery struct {
	PageRequest

	TaskIDs   []string // of the tasks themselves; nil: of all
	TicketIDs []string // of the tickets and of their tasks; nil: of all
}
