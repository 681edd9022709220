package app

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLimitMemory_OperatorWins does not run beside others: it is about the whole process.
//
//nolint:paralleltest // see above
func TestLimitMemory_OperatorWins(t *testing.T) {
	limit := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(limit)
	limitMemory()
	require.EqualValues(t, memoryLimit, debug.SetMemoryLimit(-1))

	debug.SetMemoryLimit(1 << 30)
	limitMemory()
	require.EqualValues(t, 1<<30, debug.SetMemoryLimit(-1))
}
