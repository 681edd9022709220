package taskcmd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/testkit/tables"
)

//nolint:paralleltest // it changes the tables
func TestHelp_NamesRuntimesAndProvidersOfTheTables(t *testing.T) {
	tables.AddDummy(t)
	help := newFake(t).omoi("run", "--help").out
	require.Contains(t, help, "claude, scripted, command, external, "+tables.Dummy+" (default")
	require.Contains(t, help, "local, docker, daytona, external, "+tables.Dummy+" (default")
}
