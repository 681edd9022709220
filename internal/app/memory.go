package app

import (
	"math"
	"runtime/debug"
)

// The garbage of an API is many small pieces a request and its live data few MB, so that
// collecting it seldom is cheap; near the limit it is collected as often as need be.
const (
	garbagePercent = 400
	memoryLimit    = 420 << 20 // of 500 MB for 10,000 streams under load
)

// tuneMemory sets what the operator has not set by GOGC and GOMEMLIMIT.
func tuneMemory() {
	const goDefault = 100
	if given := debug.SetGCPercent(garbagePercent); given != goDefault {
		debug.SetGCPercent(given)
	}
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(memoryLimit)
	}
}
