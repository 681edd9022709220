package taskcmd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWholeSeconds_NegativeStaysNegative(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		given time.Duration
		want  int64
	}{{-time.Millisecond, -1}, {-1500 * time.Millisecond, -2}, {0, 0}, {time.Millisecond, 1}, {2 * time.Second, 2}} {
		require.Equal(t, c.want, wholeSeconds(c.given), c.given)
	}
}
