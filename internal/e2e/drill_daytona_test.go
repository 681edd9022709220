package e2e_test

import (
	"slices"
	"testing"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

func openCloud(t *testing.T) ground {
	t.Helper()
	cloud, settings := startCloud(t)
	return ground{cloud: cloud, settings: settings, alive: func(*rig) int { return len(cloud.Boxes()) }}
}

// daytonaTargets returns the answers of the provider, and the daemon in the sandbox.
func daytonaTargets() []target {
	all := []string{
		contract.EnsureSandbox, contract.StartAgent, contract.CollectWork, contract.Salvage,
		contract.DeleteSandbox, contract.VerifyDeleted,
	}
	return []target{
		answerTarget("answers", all, daytonatest.Fault{Switch: daytonatest.LostAnswer, Times: 3}),
		answerTarget("gateway", all, daytonatest.Fault{Switch: daytonatest.BadGateway, Times: 3}),
		answerTarget("rate limit", all, daytonatest.Fault{Switch: daytonatest.TooMany, Times: 3, RetryAfter: 1}),
		createTarget("create, late", daytonatest.Fault{Switch: daytonatest.LateCreate, Delay: 300 * time.Millisecond, Times: 1}),
		createTarget("create, in error", daytonatest.Fault{Switch: daytonatest.CreateError, Message: "failed by the drill", Times: 1}),
		daemonTarget(),
	}
}

func daytonaExclusions() map[string]string {
	const asks = "only these steps call the provider"
	return map[string]string{
		"answers": asks, "gateway": asks, "rate limit": asks,
		"create, late": "only EnsureSandbox creates", "create, in error": "only EnsureSandbox creates",
		"daemon": "the other steps have no sandbox or do not call its daemon",
	}
}

// answerTarget is a wrong answer of the provider, given a number of times from the start of the step. It hits when a call
// gets it.
func answerTarget(name string, at []string, f daytonatest.Fault) target {
	return target{name: name, steps: at, retries: true, inject: func(d *drill, b *injection) bool {
		if !b.span.isScheduled() {
			return false
		}
		d.cloud.Faults().Reset() // of the last injection
		id := d.cloud.Faults().Set(f)
		return d.isMet(b, id, f.Times)
	}}
}

// createTarget is set before its task is created: the create is the second call of EnsureSandbox.
func createTarget(name string, f daytonatest.Fault) target {
	return target{
		name: name, steps: []string{contract.EnsureSandbox}, retries: true,
		prepare: func(d *drill) {
			d.cloud.Faults().Reset()
			d.cloud.Faults().Set(f)
		},
		inject: func(d *drill, b *injection) bool { return d.isMet(b, string(f.Switch), f.Times) },
	}
}

// isMet waits until a call has met the fault. It removes a fault that no call of the step has met.
func (d *drill) isMet(b *injection, id string, times int) bool {
	met := d.await(b, func() bool {
		return !slices.ContainsFunc(d.cloud.Faults().On(), func(f daytonatest.Fault) bool {
			return (f.ID == id || string(f.Switch) == id) && f.Times == times
		})
	})
	if !met {
		d.cloud.Faults().Clear(id)
	}
	return met
}

func daemonTarget() target {
	return target{
		name: "daemon", retries: true,
		steps: []string{contract.StartAgent, contract.CollectWork, contract.SaveTaskState, contract.Salvage},
		inject: func(d *drill, b *injection) bool {
			name := task.SandboxName(d.sandboxOf(b))
			return d.await(b, func() bool {
				f := daytonatest.Fault{Switch: daytonatest.DaemonDeath, Sandbox: name, Times: 1}
				id := d.cloud.Faults().Set(f) // applies to a sandbox at once
				left := slices.ContainsFunc(d.cloud.Faults().On(), func(f daytonatest.Fault) bool { return f.ID == id })
				d.cloud.Faults().Clear(id)
				return !left
			})
		},
	}
}
