package scenario

// Checks are those of an installation, in the order in which one builds on another.
func Checks() []Scenario {
	return []Scenario{agentCheck(), flow(), e2e(), monitoring(), guardian(), diagnosis()}
}
