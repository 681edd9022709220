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

// garbagePercent is how much garbage, as a percentage of what lives, makes the runtime collect it. Little lives in a process of
// the API, so that Go's usual 100 took a third of its processor time under ingest.
const garbagePercent = 300

// limitMemory sets both, unless the operator has set GOMEMLIMIT or GOGC.
func limitMemory() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(memoryLimit)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
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
