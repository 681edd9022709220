package app

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
)

// memoryLimit is the soft limit of the Go runtime: near it garbage is collected as often as need be. With 10,000 streams under load
// it keeps a process below 500 MB.
const memoryLimit = 420 << 20

// limitMemory sets the limit, unless the operator has set one by GOMEMLIMIT.
func limitMemory() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// shareProcessors takes half of the processors for a process beside which its database, Temporal
// and its sandboxes run. A scheduler that has all of them wakes a second one for each request
// while PostgreSQL computes on it: on two processors single posts were a quarter slower, and cost
// more. The operator's GOMAXPROCS counts more.
func shareProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/2)) //nolint:mnd // half
	}
}
