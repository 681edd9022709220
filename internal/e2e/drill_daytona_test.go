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

// cloudVictims are the answers of the provider, and the daemon in the sandbox.
func cloudVictims() []victim {
	all := []string{
		contract.EnsureSandbox, contract.StartAgent, contract.CollectWork, contract.Salvage,
		contract.DeleteSandbox, contract.VerifyDeleted,
	}
	return []victim{
		fault("answers", all, daytonatest.Fault{Switch: daytonatest.LostAnswer, Times: 3}),
		fault("gateway", all, daytonatest.Fault{Switch: daytonatest.BadGateway, Times: 3}),
		fault("rate limit", all, daytonatest.Fault{Switch: daytonatest.TooMany, Times: 3, RetryAfter: 1}),
		createFault("create, late", daytonatest.Fault{Switch: daytonatest.LateCreate, Delay: 300 * time.Millisecond, Times: 1}),
		createFault("create, in error", daytonatest.Fault{Switch: daytonatest.CreateError, Message: "no luck", Times: 1}),
		daemonVictim(),
	}
}

func cloudAbsent() map[string]string {
	const asks = "only at these steps is the provider asked"
	return map[string]string{
		"answers": asks, "gateway": asks, "rate limit": asks,
		"create, late": "EnsureSandbox alone creates", "create, in error": "EnsureSandbox alone creates",
		"daemon": "at the other steps there is no sandbox yet, none any more, or nobody asks it anything",
	}
}

// fault is a victim that answers wrongly for a while, from when its step is handed out. It has met something once a call got such
// an answer.
func fault(name string, at []string, f daytonatest.Fault) victim {
	return victim{name: name, steps: at, retries: true, strike: func(d *drill, b *bout) bool {
		if !b.span.comes() {
			return false
		}
		d.cloud.Faults().Reset() // what the last one left
		id := d.cloud.Faults().Set(f)
		return d.isMet(b, id, f.Times)
	}}
}

// createFault is set before its task is there: the create is the first call of EnsureSandbox but one.
func createFault(name string, f daytonatest.Fault) victim {
	return victim{
		name: name, steps: []string{contract.EnsureSandbox}, retries: true,
		arm: func(d *drill) {
			d.cloud.Faults().Reset()
			d.cloud.Faults().Set(f)
		},
		strike: func(d *drill, b *bout) bool { return d.isMet(b, string(f.Switch), f.Times) },
	}
}

// isMet waits until a call has met the fault. One that none has met in its step is switched off.
func (d *drill) isMet(b *bout, fault string, times int) bool {
	met := d.hunt(b, func() bool {
		return !slices.ContainsFunc(d.cloud.Faults().On(), func(f daytonatest.Fault) bool {
			return (f.ID == fault || string(f.Switch) == fault) && f.Times == times
		})
	})
	if !met {
		d.cloud.Faults().Clear(fault)
	}
	return met
}

func daemonVictim() victim {
	return victim{
		name: "daemon", retries: true,
		steps: []string{contract.StartAgent, contract.CollectWork, contract.SaveTaskState, contract.Salvage},
		strike: func(d *drill, b *bout) bool {
			box := task.SandboxName(d.boxOf(b))
			return d.hunt(b, func() bool {
				f := daytonatest.Fault{Switch: daytonatest.DaemonDeath, Sandbox: box, Times: 1}
				id := d.cloud.Faults().Set(f) // strikes at once what is there
				left := slices.ContainsFunc(d.cloud.Faults().On(), func(f daytonatest.Fault) bool { return f.ID == id })
				d.cloud.Faults().Clear(id)
				return !left
			})
		},
	}
}
