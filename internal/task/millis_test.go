package task_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestWhatAnAgentTellsOfTimeStaysWithinBounds(t *testing.T) {
	t.Parallel()
	require.Equal(t, 1500*time.Millisecond, task.Millis(1500))
	require.Zero(t, task.Millis(-1e300))
	for _, huge := range []float64{1e13, 1e300, math.MaxFloat64} {
		require.Equal(t, 365*24*time.Hour, task.Millis(huge))
	}
}
