package app

import (
	"context"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/acp"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/task"
)

// AgentCheck is the outcome of one check of an agent's program.
type AgentCheck = acp.Finding

// CheckableAgents returns the names of the agents whose programs [CheckAgent] checks.
func CheckableAgents() []string { return acp.Names() }

// AgentChecks returns the names of all checks.
func AgentChecks() []string { return acp.CheckNames() }

// CheckAgent checks the program of an agent on PATH with the checks of only, or with all. The error is about a name or a
// missing program.
func CheckAgent(ctx context.Context, name string, only []string, report func(AgentCheck)) error {
	d, ok := acp.Of(name)
	if !ok {
		return task.Invalid("name", "Cannot check the agent %q: expected one of %s.", name, strings.Join(acp.Names(), ", "))
	}
	for _, check := range only {
		if !slices.Contains(acp.CheckNames(), check) {
			return task.Invalid("only", "Cannot run the check %q: expected one of %s.", check, strings.Join(acp.CheckNames(), ", "))
		}
	}
	path := onPath(d.Program)
	if path == "" {
		return task.Errorf(task.CodeNotFound, "Cannot check the agent %s: %s is not on PATH. Next: %s", name, d.Program, d.Install)
	}
	if err := proc.Adopt(); err != nil {
		return task.Errorf(task.CodeConflict, "Cannot check the agent %s: processes that it leaves are seen on Linux only. Next: omoi check agent %s on a Linux machine", name, name).WithCause(err)
	}
	acp.Check{Dialect: d, Path: path, Only: only}.Run(ctx, report)
	return nil
}
