package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/spool"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// A waiting agent sends heartbeats, as its spool shows. Its wait ends all the same, unless events of it are still on their way.
func TestJudge_HeartbeatsDoNotExtendAWait(t *testing.T) {
	t.Parallel()
	const limit = 10 * time.Minute
	e := evidence{
		question: contract.AskIdle, threshold: limit, tool: time.Hour, machine: true,
		pulse: task.Pulse{Assigned: time.Hour, Started: time.Hour, Work: time.Hour, Beat: time.Second, Waiting: limit},
		seen:  sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateAlive, Started: true},
		probe: &spool.Probe{AgentAlive: true, NewestAgeMS: 100},
	}
	require.Equal(t, contract.ObservedIdle, verdict(e).Seen)
	e.probe.Unsent = 1
	require.Equal(t, contract.ObservedUnknown, verdict(e).Seen)
}
