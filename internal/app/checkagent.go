package app

import (
	"context"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/acp"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/task"
)

// AgentCheck is the outcome of one check of an agent's program.
type AgentCheck = acp.Finding

// CheckAgent checks the program of an agent on PATH. The error is about the name or a missing program.
func CheckAgent(ctx context.Context, name string, report func(AgentCheck)) error {
	d, ok := acp.Of(name)
	if !ok {
		return task.Invalid("name", "Cannot check the agent %q: expected one of %s.", name, strings.Join(acp.Names(), ", "))
	}
	path := onPath(d.Program)
	if path == "" {
		return task.Errorf(task.CodeNotFound, "Cannot check the agent %s: %s is not on PATH. Next: %s", name, d.Program, d.Install)
	}
	if err := proc.Adopt(); err != nil {
		return task.Errorf(task.CodeConflict, "Cannot check the agent %s: processes that it leaves are seen on Linux only. Next: omoi check agent %s on a Linux machine", name, name).WithCause(err)
	}
	d.Check(ctx, path, report)
	return nil
}
