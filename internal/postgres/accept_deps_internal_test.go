package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindCycle_LongPath(t *testing.T) {
	t.Parallel()
	edges := map[string][]string{"a": {"x", "b"}, "b": {"x", "c"}, "c": {"d"}, "x": {"y"}, "y": {"x"}}
	require.Nil(t, cycleFrom("a", edges), "a cycle that does not pass through a is not a's")
	edges["d"] = []string{"a"}
	require.Equal(t, []string{"a", "b", "c", "d", "a"}, cycleFrom("a", edges))
	require.Equal(t, []string{"z", "z"}, cycleFrom("z", map[string][]string{"z": {"z"}}))
}
