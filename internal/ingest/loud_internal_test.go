package ingest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A transaction that several sandboxes share waits for no row that a large request has locked.
func TestIntake_KeepsASandboxWithItsLargeRequests(t *testing.T) {
	t.Parallel()
	i := NewIntake(IntakeConfig{}, nil, nil, nil)
	apart := i.lanes[len(i.lanes)-1]
	of := func(box string, size int) *waiter {
		return &waiter{request: Request{SandboxID: box}, size: size, outcome: make(chan Outcome, 1)}
	}
	require.Equal(t, i.lanes[0], i.lane(of("box", LargeRequest)))
	large, small := of("box", LargeRequest+1), of("box", 1)
	require.Equal(t, apart, i.lane(large))
	require.Equal(t, apart, i.lane(small))
	require.Equal(t, i.lanes[0], i.lane(of("other", 1)))
	i.answer(large, Outcome{})
	require.Equal(t, apart, i.lane(of("box", 1)), "one is still behind it")
	i.answer(small, Outcome{})
	require.Len(t, i.loud.of, 1)
}

// Large requests are taken apart one after the other, and small ones meanwhile.
func TestTurn_LetsSmallRequestsPass(t *testing.T) {
	t.Parallel()
	var turn Turn
	done := turn.Take(LargeRequest + 1)
	turn.Take(LargeRequest)()
	require.False(t, turn.mu.TryLock())
	done()
	require.True(t, turn.mu.TryLock())
}
