package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/agent/acp"
	"github.com/omoi-dev/omoi/internal/task"
)

// StartDemoAgent finds the program of a coding agent, and starts a scripted model that has the agent run commands. env
// are the variables of a task that uses both.
func StartDemoAgent(cfg *config.Loaded, name string, commands []string) (env map[string]string, stop func(), err error) {
	all := agentRuntimes()
	at := slices.IndexFunc(all, func(r agentRuntime) bool { return r.agent == name })
	if at < 0 {
		var names []string
		for _, r := range all {
			names = append(names, r.agent)
		}
		return nil, nil, task.Invalid("agent", "Cannot run the demo with the agent %q: expected one of %s.", name, strings.Join(names, ", "))
	}
	if _, err := all[at].runnable(cfg); err != nil {
		return nil, nil, task.Errorf(task.CodeNotFound, "Cannot run the demo with the agent %s: %s. Next: %s", name, err, all[at].install)
	}
	address, stop, err := startModel(commands)
	if err != nil {
		return nil, nil, fmt.Errorf("start the model of the demo: %w", err)
	}
	const key = "sk-omoi-demo"
	if d, ok := acp.Of(name); ok {
		return d.VarsAt(address, "omoi-demo", key), stop, nil
	}
	return map[string]string{"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": key}, stop, nil
}
