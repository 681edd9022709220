package event_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
)

func TestMillis_StaysWithinBounds(t *testing.T) {
	t.Parallel()
	require.Equal(t, 1500*time.Millisecond, event.Millis(1500))
	require.Zero(t, event.Millis(-1e300))
	for _, huge := range []float64{1e13, 1e300, math.MaxFloat64} {
		require.Equal(t, 365*24*time.Hour, event.Millis(huge))
	}
}
