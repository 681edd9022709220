package app

import (
	"os"
	"runtime"
)

// shareProcessors takes half of the processors for a process beside which its database, Temporal
// and its sandboxes run. A scheduler that has all of them wakes a second one for each request
// while PostgreSQL computes on it: on two processors single posts were a quarter slower, and cost
// more. The operator's GOMAXPROCS counts more.
func shareProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/2)) //nolint:mnd // half
	}
}
