package reporter_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

func long(e agenttest.Event) bool {
	text, _ := e.Data["final_output"].(string)
	return len(text) > 1000
}

// TestBlockedEvent_IsReduced checks that a proxy which never passes one event costs the long values of this event only.
func TestBlockedEvent_IsReduced(t *testing.T) {
	t.Parallel()
	server := agenttest.New(t)
	server.Block = func(e agenttest.Event) bool { return long(e) || e.Type == "agent.cursed" }
	r := begin(t, server, t.TempDir(), quick(), 0)
	for i := range 9 {
		r.Emit("agent.message", map[string]any{"i": i})
	}
	r.Emit("agent.completed", map[string]any{"success": true, "turns": 3, "final_output": strings.Repeat("x", 2000)})
	r.Emit("agent.cursed", map[string]any{"content": "a word that nobody may say"})
	r.Emit("agent.message", map[string]any{"i": 9})
	require.NoError(t, r.Flush(t.Context()))
	events := requireWhole(t, server)
	require.Len(t, events, 12)
	require.Equal(t, "agent.completed", events[9].Type, "its outcome arrives")
	require.Equal(t, []any{true, 3.0, nil}, []any{events[9].Data["success"], events[9].Data["turns"], events[9].Data["final_output"]})
	said := events[9].Data["dropped"].(map[string]any)
	require.Equal(t, []any{"refused_on_the_way", []any{"final_output"}}, []any{said["reason"], said["fields"]})
	require.Greater(t, said["bytes"], 2000.0)
	require.Equal(t, event.AgentEventsDropped, events[10].Type)
	require.Equal(t, "agent.cursed", events[10].Data["event_type"])
	require.Equal(t, "agent.message", events[11].Type)
}

// TestBlockedEvent_ArrivesLater checks that no event is reduced while small requests are rejected too, or if the
// rejections end in time.
func TestBlockedEvent_ArrivesLater(t *testing.T) {
	t.Parallel()
	const refusals = 9
	var large, all atomic.Int64
	for name, spoil := range map[string]func(*agenttest.Server){
		"it alone": func(s *agenttest.Server) {
			s.Block = func(e agenttest.Event) bool { return long(e) && large.Add(1) <= refusals }
		},
		"everything": func(s *agenttest.Server) {
			s.FaultOf = func(int) agenttest.Fault { return passing(all.Add(1) <= 10*refusals) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := agenttest.New(t)
			spoil(server)
			r := begin(t, server, t.TempDir(), quick(), 0)
			r.Emit("agent.completed", map[string]any{"final_output": strings.Repeat("x", 2000)})
			require.NoError(t, r.Flush(t.Context()))
			events := requireWhole(t, server)
			require.Len(t, events, 1)
			require.True(t, long(events[0]))
		})
	}
}

// passing is a temporary rejection by a proxy.
func passing(still bool) agenttest.Fault {
	if still {
		return agenttest.Fault{Status: 400, Foreign: true}
	}
	return agenttest.Fault{}
}
