package app

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheBallastIsNoMemory does not run beside others: it is about the whole process.
//
//nolint:paralleltest // see above
func TestTheBallastIsNoMemory(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	defer func() {
		ballast = nil
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}()
	before := resident(t)
	tuneMemory()
	require.EqualValues(t, memoryLimit+ballastSize, debug.SetMemoryLimit(-1))
	require.Less(t, resident(t)-before, int64(ballastSize/2))
	require.Equal(t, garbagePercent, debug.SetGCPercent(100))

	ballast = nil
	debug.SetMemoryLimit(1 << 30)
	tuneMemory()
	require.EqualValues(t, 1<<30+ballastSize, debug.SetMemoryLimit(-1), "what the operator sets is for the rest")

	ballast = nil
	debug.SetGCPercent(200)
	debug.SetMemoryLimit(math.MaxInt64)
	tuneMemory()
	require.Empty(t, ballast, "the operator's percentage is of what lives")
	require.Equal(t, 200, debug.SetGCPercent(200))
	require.EqualValues(t, memoryLimit, debug.SetMemoryLimit(-1))
}

// resident is the memory of this process in bytes.
func resident(t *testing.T) (bytes int64) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("SKIPPED: this system does not say how much memory a process has")
	}
	_, text, _ := strings.Cut(string(status), "VmRSS:")
	_, err = fmt.Sscan(text, &bytes)
	require.NoError(t, err)
	return bytes << 10
}
