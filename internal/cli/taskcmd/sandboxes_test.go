package taskcmd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestSandboxList_UnmanagedSandbox(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.boxes = []client.Sandbox{{ID: "unchanged-worker", Provider: task.ProviderBare, State: task.SandboxRunning}}
	out := f.omoi("sandbox", "list", "--all").out
	require.Regexp(t, `bare +- +running`, out)
	require.NotContains(t, out, "#0")
}
