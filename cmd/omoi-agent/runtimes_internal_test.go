package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestRuntimes_AreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	known := slices.DeleteFunc(task.RuntimeNames(), func(name string) bool { return task.RuntimeOf(name).SelfConnecting })
	require.ElementsMatch(t, known, slices.Collect(maps.Keys(runtimes())))
}
