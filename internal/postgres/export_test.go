package postgres

// Statements whose plans are tested.
const (
	SQLPlans    = sqlPlans
	SQLReadKeys = sqlReadKeys
)
