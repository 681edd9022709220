package e2e_test

import (
	"slices"
	"testing"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox/daytona/standin"
	"github.com/omoi-dev/omoi/internal/task"
)

func openCloud(t *testing.T) ground {
	t.Helper()
	cloud, settings := startCloud(t)
	return ground{cloud: cloud, settings: settings, alive: func(*rig) int { return len(cloud.Boxes()) }}
}

// cloudVictims are the answers of the provider, and the daemon in the sandbox.
func cloudVictims() []victim {
	all := []string{
		contract.EnsureSandbox, contract.StartAgent, contract.StopAgent, contract.CollectWork, contract.Salvage,
		contract.DeleteSandbox, contract.VerifyGone,
	}
	before := []string{contract.LoadTask, contract.EnsureBranch, contract.BeginAttempt}
	return []victim{
		fault("answers", all, standin.Fault{Switch: standin.LostAnswer, Times: 3}),
		fault("gateway", all, standin.Fault{Switch: standin.BadGateway, Times: 3}),
		fault("rate limit", all, standin.Fault{Switch: standin.TooMany, Times: 3, RetryAfter: 1}),
		fault("create, late", before, standin.Fault{Switch: standin.LateCreate, Delay: 300 * time.Millisecond, Times: 1}),
		fault("create, in error", before, standin.Fault{Switch: standin.CreateError, Message: "the drill says so", Times: 1}),
		daemonVictim(),
	}
}

// fault is a victim that answers wrongly for a while.
func fault(name string, at []string, f standin.Fault) victim {
	return victim{name: name, steps: at, retries: true, strike: func(d *drill, _ task.Task) bool {
		d.cloud.Faults().Reset() // what the last one left
		d.cloud.Faults().Set(f)
		return true
	}}
}

func daemonVictim() victim {
	return victim{
		name: "daemon", retries: true, steps: []string{contract.StartAgent, contract.Project, contract.StopAgent, contract.CollectWork},
		strike: func(d *drill, made task.Task) bool {
			name := task.SandboxName(d.task(made.ID).Attempts[0].SandboxID)
			if !slices.ContainsFunc(d.cloud.Boxes(), func(b standin.Box) bool { return b.Name == name }) {
				return false
			}
			d.cloud.Faults().Set(standin.Fault{Switch: standin.DaemonDeath, Sandbox: name, Times: 1})
			return true
		},
	}
}
