package uptime

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClock_CountsNoTimeInWhichTheProcessWasStopped(t *testing.T) {
	t.Parallel()
	start := time.Now()
	c := &Clock{last: start}
	require.Equal(t, time.Second, c.read(start.Add(time.Second)))
	require.Equal(t, time.Second+most, c.read(start.Add(9*time.Hour)), "a gap is a stop")
	require.Equal(t, 2*time.Second+most, c.read(start.Add(9*time.Hour+time.Second)))
	require.Equal(t, 2*time.Second+most, c.read(start), "time never runs back")
}

func TestWithTimeout(t *testing.T) {
	t.Parallel()
	before := Now()
	ctx, cancel := WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	<-ctx.Done()
	require.GreaterOrEqual(t, Now()-before, 20*time.Millisecond)
	ctx, cancel = WithTimeout(t.Context(), time.Hour)
	require.NoError(t, ctx.Err())
	cancel()
	require.ErrorIs(t, ctx.Err(), context.Canceled)
}
