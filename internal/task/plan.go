package task

// Plans are those that an organization may have.
func Plans() []string { return []string{"free", "pro", "lifetime", "team", "enterprise", "unlimited"} }

// PlanSlots returns the concurrency limit of a plan, and whether the plan has one. The limit of an
// organization precedes it.
func PlanSlots(plan string) (slots int, limited bool) {
	slots, limited = map[string]int{"free": 1, "pro": 3, "lifetime": 5, "team": 10}[plan]
	return slots, limited
}
