package main_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// TestKilledRepeatedly kills the program repeatedly while the network loses requests and answers: all emitted events
// arrive, each once and in order.
func TestKilledRepeatedly(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [{"flood": {"events": 900, "bytes": 50}}, {"flood": {"events": 900, "bytes": 50}}, {"flood": {"events": 900, "bytes": 50}}, {"say": "done"}]}`)
	rng := rand.New(rand.NewPCG(11, 12))
	b.server.FaultOf = func(int) agenttest.Fault { // called with the server's lock
		faults := []agenttest.Fault{{CutBefore: true}, {CutAfter: true}, {Status: 502}, {Keep: 1 + rng.IntN(50)}}
		return append(faults, make([]agenttest.Fault, 6)...)[rng.IntN(10)]
	}
	const kills = 4
	for n := range kills {
		cmd, wait := b.start()
		b.server.Wait(t, func(events []agenttest.Event) bool { return len(events) >= (n+1)*300 })
		require.NoError(t, cmd.Process.Kill())
		wait()
	}
	require.Equal(t, 0, b.run())
	events := b.server.Events()
	spools, last := map[string]bool{}, 0.0
	for i, e := range events {
		require.EqualValues(t, i+1, e.N)
		spools[e.Spool] = true
		switch flood, _ := e.Data["flood"].(float64); {
		case e.Type == "agent.started":
			last = 0
		case flood == 1:
			last = 1
		case flood > 0:
			require.InDelta(t, last+1, flood, 0, "one was lost before event %d", e.N)
			last = flood
		}
	}
	require.Len(t, spools, 1)
	require.Empty(t, b.server.Of("agent.events_dropped"))
	require.Len(t, b.server.Of("agent.started"), kills+1)
	require.Len(t, b.server.Of("agent.completed"), 1)
}

// TestKilled_ProgramDies checks that the program of a killed agent does not continue.
func TestKilled_ProgramDies(t *testing.T) {
	t.Parallel()
	const does = `echo $$ > pid; while :; do sleep 1; done`
	command, scripted := newBox(t, ""), newBox(t, `{"steps": [{"bash": "`+does+`"}]}`)
	command.cfg.Runtime, command.cfg.Command = "command", []string{"sh", "-c", does}
	for _, b := range []*box{fakeClaudeBox(t, does), command, scripted} {
		cmd, wait := b.start()
		pid := waitFile(t, b.at("pid"))
		require.NoError(t, cmd.Process.Kill())
		wait()
		require.Eventually(t, func() bool { return gone(pid) }, 30*time.Second, 5*time.Millisecond, b.cfg.Runtime)
	}
}

// gone reports whether a process has ended; a zombie has ended.
func gone(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}
