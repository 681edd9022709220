package taskcmd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWholeSeconds_NegativeStaysNegative(t *testing.T) {
	t.Parallel()
	for given, want := range map[time.Duration]int64{-time.Millisecond: -1, -1500 * time.Millisecond: -2, 0: 0, time.Millisecond: 1, 2 * time.Second: 2} {
		require.Equal(t, want, wholeSeconds(given), given)
	}
}
