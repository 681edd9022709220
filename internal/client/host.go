package client

import "time"

// Host is a machine that holds sandboxes.
type Host struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`    // of the machine, for people; may be empty
	Version   string     `json:"version"` // of its worker
	Providers []string   `json:"providers"`
	Agents    []string   `json:"agents"`   // agent runtimes whose program its local sandboxes can run
	Capacity  int        `json:"capacity"` // sandboxes that it takes; 0: no limit
	SeenAt    time.Time  `json:"seen_at"`  // when it reported last
	LostAt    *time.Time `json:"lost_at"`  // when a person declared it lost
	Beats     bool       `json:"beats"`    // it reports
	// Sandboxes on it: at work; neither at work nor verified gone; lost with it.
	Live       int `json:"live"`
	Unverified int `json:"unverified"`
	Lost       int `json:"lost"`
}
