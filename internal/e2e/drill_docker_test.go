package e2e_test

import (
	"context"
	"slices"
	"syscall"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	dockerclient "github.com/docker/docker/client"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
	dockertest "github.com/omoi-dev/omoi/internal/testkit/docker"
)

// engine is the Docker engine of a drill with its client.
type engine struct {
	*dockertest.Engine
	client *dockerclient.Client
}

// dockerStage has an engine of its own. A container dies as if by a stranger's hand; the engine
// crashes and comes back.
func dockerStage() stage {
	return stage{
		provider: task.ProviderDocker, each: 1,
		victims: append(ourParts(),
			victim{name: "container", retries: true, inside: true, strike: strikeContainer, steps: []string{
				contract.StartAgent, contract.CollectWork, contract.SaveTaskState, contract.Salvage,
			}},
			victim{name: "engine", retries: true, steps: steps(), strike: func(d *drill, b *bout) bool {
				if !d.moment(b) {
					return false
				}
				require.NoError(d.t, d.engine.Crash(context.Background()))
				return true
			}}),
		absent: map[string]string{
			"container": "one runs with the agent, or with a command in the sandbox: before StartAgent and after Salvage, which ends whatever is left, there is none",
		},
		open: func(t *testing.T) ground {
			t.Helper()
			e, c := startEngine(t)
			return ground{settings: dockerSettings(t, e), engine: &engine{e, c}, alive: func(r *rig) int { return dockerAlive(r.t, c) }}
		},
	}
}

// strikeContainer kills what runs in the containers of a sandbox: that of the agent, or that of a command.
func strikeContainer(d *drill, b *bout) bool {
	box := d.boxOf(b)
	d.hold(b, func() []int {
		inits := d.engine.running(box)
		return belowAny(lookout{}.fresh(), func(pid int) bool { return slices.Contains(inits, pid) })
	})
	return d.hunt(b, func() bool {
		met := false
		for _, pid := range d.engine.running(box) {
			met = syscall.Kill(pid, syscall.SIGKILL) == nil || met
		}
		return met
	})
}

// running are the first processes of the containers of a sandbox that run.
func (e *engine) running(sandboxID string) []int {
	ctx := context.Background()
	found, err := e.client.ContainerList(ctx, container.ListOptions{Filters: filters.NewArgs(filters.Arg("label", "omoi.sandbox="+sandboxID))})
	if err != nil {
		return nil
	}
	var pids []int
	for _, one := range found {
		if box, err := e.client.ContainerInspect(ctx, one.ID); err == nil && box.State.Running && box.State.Pid > 0 {
			pids = append(pids, box.State.Pid)
		}
	}
	return pids
}
