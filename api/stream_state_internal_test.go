package api

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// A sandbox that only grows older and more expensive is not sent again.
func TestStateFeed_SendsASandboxThatChanged(t *testing.T) {
	t.Parallel()
	s := &stateFeed{sent: map[string][]byte{}}
	sends := func(b client.Sandbox) string {
		var out bytes.Buffer
		require.NoError(t, s.frame(&out, "sandbox", 1, b.ID, b))
		return out.String()
	}
	box := client.Sandbox{ID: "a", State: task.SandboxRunning, SecondsAlive: 1, Cost: &task.Money{Amount: 1, Currency: "USD"}}
	require.NotEmpty(t, sends(box))
	box.SecondsAlive, box.Cost = 2, &task.Money{Amount: 2, Currency: "USD"}
	require.Empty(t, sends(box))
	box.State = task.SandboxGone
	require.Contains(t, sends(box), `"seconds_alive":2`)
}
