// Package tables adds rows to the tables of agent runtimes and sandbox providers, for tests of what omoi derives from
// them.
package tables

import (
	"slices"
	"testing"

	"github.com/omoi-dev/omoi/internal/task"
)

// Dummy is the name of the rows that [AddDummy] adds.
const Dummy = "testrow"

// AddDummy adds an agent runtime and a sandbox provider elsewhere, until the test ends. Such a test does not run in
// parallel.
func AddDummy(tb testing.TB) {
	tb.Helper()
	runtimes, providers := task.Runtimes, task.Providers
	tb.Cleanup(func() { task.Runtimes, task.Providers = runtimes, providers })
	task.Runtimes = append(slices.Clip(runtimes), task.RuntimeSpec{Name: Dummy, NeedsModel: true})
	task.Providers = append(slices.Clip(providers), task.ProviderSpec{
		Name: Dummy, Capabilities: task.Capabilities{Machine: true, Exec: true},
	})
}
