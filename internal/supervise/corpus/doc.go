// Package corpus scores the guardian's rules and models on labelled trajectories. Agents that omoi ran recorded the
// trajectories. Each is a file of JSON lines: its label, then its stored events. For a score of the rules, each
// trajectory is analyzed repeatedly while it grows, as the guardian would.
package corpus
