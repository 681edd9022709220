package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithAddress(t *testing.T) {
	t.Parallel()
	got := withAddress([]string{
		"A=1", "CALLBACK_URL=unix:///s", "MCP_SERVER_URL=unix:///s/mcp", "CALLBACK_URLS=kept", "OMOIOS_API_URL=unix:///s",
	}, "http://127.0.0.1:5")
	require.Equal(t, []string{
		"A=1", "CALLBACK_URL=http://127.0.0.1:5", "CALLBACK_URLS=kept", "MCP_SERVER_URL=http://127.0.0.1:5/mcp", "OMOIOS_API_URL=http://127.0.0.1:5",
	}, got)
}
