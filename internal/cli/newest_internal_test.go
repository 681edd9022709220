package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// To a parser of flags the newest task's file would be one.
func TestTheNewestTasksFileIsNoFlag(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"sandbox", "cp", ":/workspace/a", "-"}, newest([]string{"sandbox", "cp", "-:/workspace/a", "-"}))
	require.Equal(t, []string{"sandbox", "exec", "-", "--", "x", "-:/a"}, newest([]string{"sandbox", "exec", "-", "--", "x", "-:/a"}))
	require.NotNil(t, newest(nil))
}
