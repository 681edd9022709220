package main_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/openhands"
	openhandstest "github.com/omoi-dev/omoi/internal/testkit/openhands"
)

// TestDiscard checks that the conversation of an ended agent is deleted from its server, and that an event names one that is not.
func TestDiscard(t *testing.T) {
	t.Parallel()
	server := openhandstest.NewFake(t, func(t *openhandstest.Turn) { t.Text("Done.") })
	b := openhandsBoxAt(t, server)
	b.run()
	id := openhands.ConversationID(b.cfg.SandboxID)
	require.True(t, server.Has(id))
	config := filepath.Join(b.cfg.Dir, "agent.json")
	server.Fault = func(*http.Request) openhandstest.Fault { return openhandstest.Fault{Status: http.StatusForbidden} }
	require.Error(t, b.command("discard", "--config", config).Run())
	var left []string
	for _, e := range b.server.Of("agent.system_message") {
		if e.Data["subtype"] == "not_discarded" {
			text, err := json.Marshal(e.Data)
			require.NoError(t, err)
			left = append(left, string(text))
		}
	}
	require.Len(t, left, 1)
	require.Contains(t, left[0], id)
	require.NotContains(t, left[0], server.Key)
	server.Fault = func(*http.Request) openhandstest.Fault { return openhandstest.Fault{} }
	out, err := b.command("discard", "--config", config).CombinedOutput()
	require.NoError(t, err, string(out))
	require.False(t, server.Has(id))
}
