package taskcmd_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestACP_UnknownNames are refused at the start, before an editor waits for an answer.
func TestACP_UnknownNames(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for flag, known := range map[string][]string{"--agent": task.RuntimeNames(), "--provider": task.ProviderNames()} {
		got := f.omoi("acp", flag, "hal")
		require.Equal(t, exit.Usage, got.code)
		require.Contains(t, got.err, "hal")
		require.Contains(t, got.err, strings.Join(known, ", "))
		require.Zero(t, f.omoi("acp", flag, known[0]).code)
	}
}
