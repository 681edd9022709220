package app

import (
	"math"
	"runtime/debug"
)

// The garbage of an API is many small pieces a request and its live data few MB, so that
// collecting it seldom is cheap. 10,000 streams make the live data more than ten times as much,
// and a percentage of that would be more garbage than anybody wants to keep: what is let lie goes
// by a ballast more than by what lives. The ballast is never touched, and so is no memory. Near
// the limit garbage is collected as often as need be.
const (
	ballastSize    = 256 << 20
	garbagePercent = 30        // 80 MB; 120 MB with 10,000 streams
	memoryLimit    = 420 << 20 // of 500 MB for 10,000 streams under load
)

var ballast []byte //nolint:gochecknoglobals // kept for as long as the process lasts

// tuneMemory sets what the operator has not set by GOGC and GOMEMLIMIT.
func tuneMemory() {
	const goDefault = 100
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		limit = memoryLimit
	}
	if given := debug.SetGCPercent(garbagePercent); given != goDefault {
		debug.SetGCPercent(given)
	} else {
		ballast = make([]byte, ballastSize)
	}
	debug.SetMemoryLimit(limit + int64(len(ballast))) // it counts, too
}
