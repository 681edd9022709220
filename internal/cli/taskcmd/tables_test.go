package taskcmd_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/testkit/tables"
)

//nolint:paralleltest // it changes the tables
func TestHelp_NamesRuntimesAndProvidersOfTheTables(t *testing.T) {
	tables.AddDummy(t)
	help := newFake(t).omoi("run", "--help").out
	for _, names := range [][]string{task.RuntimeNames(), task.ProviderNames()} {
		require.Contains(t, names, tables.Dummy)
		require.Contains(t, help, strings.Join(names, ", ")+" (default")
	}
}
