package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
)

func TestMessages_AllowARefusedCallOnce(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { c.Open = true })
	box := w.begin(w.task(newTask()))
	report := func(kind string, data map[string]any) string {
		return *ok[client.ReceivedEvent](w.call(http.MethodPost, wire+box+"/events", map[string]any{"event_type": kind, "event_data": data, "source": "agent"}), http.StatusOK).EventID
	}
	allow := func(id string) answer {
		return w.call(http.MethodPost, wire+box+"/messages", client.CreateMessageRequest{Content: "Repeat it.", Allows: id})
	}
	refused := report("agent.tool_refused", map[string]any{"refusal": "0123456789abcdef-01234567", "command": "npm publish", "can_be_allowed": true})
	first := ok[client.QueuedMessage](allow(refused), http.StatusOK)
	require.Equal(t, first, ok[client.QueuedMessage](allow(refused), http.StatusOK), "one message for a refusal")
	w.say(box, "another")

	got := w.take(box, "?poll=12345678")
	require.Len(t, got, 2)
	require.Equal(t, []string{"Repeat it.", "0123456789abcdef-01234567"}, []string{got[0].Content, got[0].Allows})
	require.Empty(t, got[1].Allows)

	require.Equal(t, http.StatusConflict, allow(report("agent.tool_refused", map[string]any{"refusal": "0123456789abcdef-01234568"})).status, "the agent gets no messages")
	require.Equal(t, http.StatusUnprocessableEntity, allow(report("agent.message", map[string]any{"content": "x"})).status)
	require.Equal(t, http.StatusNotFound, allow(box+":999").status)
	require.Equal(t, http.StatusNotFound, allow("x").status)
}
