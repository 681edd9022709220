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

// dockerSite has an engine of its own. Its faults kill a container, and crash the engine, which
// restarts.
func dockerSite() site {
	return site{
		provider: task.ProviderDocker, each: 1,
		targets: append(serverTargets(),
			target{name: "container", retries: true, inside: true, inject: killContainer, steps: []string{
				contract.StartAgent, contract.CollectWork, contract.SaveTaskState, contract.Salvage,
			}},
			target{name: "engine", retries: true, steps: steps(), inject: func(d *drill, b *injection) bool {
				if !d.atRandom(b) {
					return false
				}
				require.NoError(d.t, d.engine.Crash(context.Background()))
				return true
			}}),
		exclusions: map[string]string{
			"container": "one runs beside the agent or a command: none runs before StartAgent or after Salvage",
		},
		open: func(t *testing.T) ground {
			t.Helper()
			e, c := startEngine(t)
			return ground{settings: dockerSettings(t, e), engine: &engine{e, c}, alive: func(r *rig) int { return dockerAlive(r.t, c) }}
		},
	}
}

// killContainer kills the first process of each container of a sandbox.
func killContainer(d *drill, b *injection) bool {
	name := d.sandboxOf(b)
	d.hold(b, func() []int {
		inits := d.engine.running(name)
		return belowAny(processScan{}.recent(), func(pid int) bool { return slices.Contains(inits, pid) })
	})
	return d.await(b, func() bool {
		met := false
		for _, pid := range d.engine.running(name) {
			met = syscall.Kill(pid, syscall.SIGKILL) == nil || met
		}
		return met
	})
}

// running returns the first process of each running container of a sandbox.
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
