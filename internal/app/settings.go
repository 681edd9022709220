package app

import (
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	gib = 1 << 30
	gb  = 1_000_000_000
)

// taskSettings are frozen into the history of each task that is loaded.
func taskSettings(t config.Task) contract.Settings {
	return contract.Settings{
		StartupTimeout:   t.StartupTimeout,
		HeartbeatTimeout: t.HeartbeatTimeout,
		NoWorkTimeout:    t.NoWorkTimeout,
		IdleTimeout:      t.IdleTimeout,
		AttemptTimeout:   t.AttemptTimeout,
		ToolTimeout:      t.ToolTimeout,
		RetryBase:        t.RetryBase,
		LimitSleep:       t.LimitSleep,
		CleanupWait:      t.CleanupWait,
		UnknownRetry:     t.UnknownRetry,
		SpawnTimeout:     t.SpawnTimeout,
		MaxSignals:       t.MaxSignals,
	}
}

// prices are those of providers as the store takes them.
func prices(p config.Price) map[string]task.Price {
	out := map[string]task.Price{}
	for provider, rate := range p.Rates() {
		out[provider] = task.Price{PerSecond: rate.PerSecond, Currency: rate.Currency}
	}
	return out
}

func limits(s config.Sandbox) sandbox.Limits {
	return sandbox.Limits{
		MemoryBytes: int64(s.MemoryGB * gib), CPUs: s.CPU, DiskBytes: int64(s.DiskGB * gb), Processes: s.Pids,
	}
}

// offered is what an installation can run, the configured default first.
func offered(first string, all ...string) []string {
	out := []string{first}
	for _, name := range all {
		if name != first {
			out = append(out, name)
		}
	}
	return out
}
