package e2e_test

import (
	"context"
	"syscall"
	"testing"

	dockerclient "github.com/docker/docker/client"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox/docker/dockertest"
	"github.com/omoi-dev/omoi/internal/task"
)

// dockerStage is an engine of its own. A container dies as if by a stranger's hand; the engine
// crashes and comes back, which ends the containers that ran.
func dockerStage() stage {
	var engine *dockertest.Engine
	var c *dockerclient.Client
	inside := []string{contract.StartAgent, contract.Project, contract.StopAgent, contract.CollectWork, contract.Salvage}
	return stage{
		provider: task.ProviderDocker, few: 3,
		victims: append(ourParts(),
			victim{name: "container", retries: true, steps: inside, strike: func(d *drill, made task.Task) bool {
				box, err := c.ContainerInspect(context.Background(), task.SandboxName(d.task(made.ID).Attempts[0].SandboxID))
				return err == nil && box.State.Running && syscall.Kill(box.State.Pid, syscall.SIGKILL) == nil
			}},
			victim{name: "engine", retries: true, steps: steps(), strike: func(d *drill, _ task.Task) bool {
				require.NoError(d.t, engine.Crash(context.Background()))
				return true
			}}),
		open: func(t *testing.T) ground {
			t.Helper()
			engine, c = startEngine(t)
			return ground{settings: dockerSettings(t, engine), alive: func(r *rig) int { return dockerAlive(r.t, c) }}
		},
	}
}
