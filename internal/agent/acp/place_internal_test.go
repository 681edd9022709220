package acp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMoved checks that a session names the folder of the next attempt.
func TestMoved(t *testing.T) {
	t.Parallel()
	move := moved("/b/ws")
	require.Equal(t, "{\"cwd\":\"/b/ws\"}\n", string(move([]byte("{\"cwd\":\"/a/ws\"}\n"))))
	require.Equal(t, `{"path":"/b/ws/x"}`, string(move([]byte(`{"path":"/a/ws/x"}`))))
	require.Equal(t, `{"path":"/a/ws/x"}`, string(moved("/b/ws")([]byte(`{"path":"/a/ws/x"}`))))
}
