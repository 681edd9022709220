package app

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// The test runs alone, because the limits apply to the process.
func TestLimitMemory_OperatorWins(t *testing.T) {
	limit := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(limit)
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	t.Setenv("GOGC", "")
	limitMemory()
	require.EqualValues(t, memoryLimit, debug.SetMemoryLimit(-1))
	require.Equal(t, garbagePercent, debug.SetGCPercent(50))

	debug.SetMemoryLimit(1 << 30)
	t.Setenv("GOGC", "50")
	limitMemory()
	require.Equal(t, 50, debug.SetGCPercent(50))
	require.EqualValues(t, 1<<30, debug.SetMemoryLimit(-1))
}
