package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
)

func TestWebSocket_RejectsSilentClients(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { c.LoginWait = time.Millisecond })
	w.socket(t, "").closedWith(4401)
}

func TestWebSocket_RejectsInvalidFirstFrame(t *testing.T) {
	t.Parallel()
	w := closed(t)
	s := w.socket(t, "")
	s.say(`no json`)
	require.Equal(t, map[string]any{"error": "Invalid JSON message"}, s.next())
	s.ends(4401)
	empty := w.socket(t, "")
	empty.say(`{"type":"auth"}`)
	empty.closedWith(4401)
}
