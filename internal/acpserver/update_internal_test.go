package acpserver

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

func TestReport_ShowsWhatTheHookDid(t *testing.T) {
	t.Parallel()
	const refused, next = `{"command":"npm publish","reason":"The contract forbids it.","can_be_allowed":true}`, "Next: omoi allow 01234567 57"
	for _, c := range []struct {
		kind, data  string
		live        bool
		shows, lack string
	}{
		{"agent.tool_refused", refused, true, `agent.tool_refused: npm publish\nThe contract forbids it.\n` + next, "%!"},
		{"agent.tool_refused", refused, false, `agent.tool_refused: npm publish\nThe contract forbids it.`, "Next"},
		{"agent.tool_refused", `{"file_path":"go.mod","can_be_allowed":false}`, true, `agent.tool_refused: go.mod`, "Next"},
		{"agent.tool_allowed", `{"command":"npm publish"}`, true, `agent.tool_allowed: npm publish`, "Next"},
		{"agent.tool_unchecked", `{"error":"read the limits: EOF"}`, true, `agent.tool_unchecked: read the limits: EOF`, "Next"},
	} {
		var out bytes.Buffer
		s := (&server{out: &out, sessions: map[string]*session{}}).session("one", kept{Tasks: []string{"before", "89ab-01234567"}})
		require.Equal(t, 1, s.report(client.Event{Type: c.kind, Sequence: 57, Data: []byte(c.data)}, c.live))
		require.Contains(t, out.String(), c.shows)
		require.Contains(t, out.String(), thoughtChunk)
		require.NotContains(t, out.String(), c.lack)
	}
}

func TestReport_LeavesHeartbeatsOut(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := (&server{out: &out, sessions: map[string]*session{}}).session("one", kept{})
	for _, kind := range []string{"agent.heartbeat", "heartbeat", "spec.heartbeat"} {
		require.Zero(t, s.report(client.Event{Type: kind, Data: []byte(`{"status":"waiting"}`)}, true), kind)
	}
	require.True(t, s.waits)
	require.Empty(t, out.String())
}
