package taskcmd_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
)

// The help of every command explains its arguments.
func TestHelp_ExplainsEveryArgument(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, name := range []string{"task", "sandbox", "project", "ticket"} {
			if strings.ContainsAny(cmd.Use, "<[") && (strings.Contains(cmd.Use, "<"+name+">") || strings.Contains(cmd.Use, "["+name)) {
				require.Contains(t, cmd.Long, "<"+name+"> is", cmd.CommandPath())
				require.NotContains(t, cmd.Long, "..\n", cmd.CommandPath())
				seen[name]++
			}
		}
		require.NotEmpty(t, cmd.Short, cmd.CommandPath())
		for line := range strings.SplitSeq(cmd.Long, "\n") {
			require.LessOrEqual(t, len(line), 150, "%s: %s", cmd.CommandPath(), line)
		}
		for _, child := range cmd.Commands() {
			look(child)
		}
	}
	for _, cmd := range taskcmd.Commands(taskcmd.IO{}) {
		look(cmd)
	}
	require.Greater(t, seen["task"], 10)
	for _, name := range []string{"sandbox", "project", "ticket"} {
		require.Positive(t, seen[name], name)
	}
}
