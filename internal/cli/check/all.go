package check

// All are the checks of an installation, in the order in which one builds on another.
func All() []Check {
	return []Check{spawn(), agentCheck(), gitCheck(), flow(), e2e(), monitoring(), guardian(), diagnosis()}
}
