package app

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
)

// memoryLimit is the soft memory limit of the Go runtime in bytes: near the limit, garbage is collected more often. The
// value keeps a process with 10,000 streams under load below 500 MB.
const memoryLimit = 420 << 20

// garbagePercent is the GOGC value: the percentage of new data, relative to live data, that starts a collection. API
// processes have little live data, and with Go's default of 100 collections took a third of the CPU time under ingest.
const garbagePercent = 300

// limitMemory sets the memory limit and GOGC, unless the operator has set GOMEMLIMIT or GOGC.
func limitMemory() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(memoryLimit)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
}

// shareProcessors sets GOMAXPROCS of omoi dev to half of the CPUs, because PostgreSQL, Temporal and the sandboxes run
// on the same machine. With all CPUs, the Go scheduler wakes a second thread for each request while PostgreSQL uses
// that CPU: on two CPUs, single posts were a quarter slower and used more CPU time. GOMAXPROCS of the operator takes
// precedence.
func shareProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/2)) //nolint:mnd // half
	}
}
