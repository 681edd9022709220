package app

import (
	"cmp"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/tracing"
	"github.com/omoi-dev/omoi/worker"
)

const (
	gib = 1 << 30
	gb  = 1_000_000_000
)

// taskSettings are frozen into the history of each task that is loaded.
func taskSettings(cfg *config.Loaded) contract.Settings {
	t := cfg.Task
	return contract.Settings{
		StartupTimeout:   t.StartupTimeout,
		HeartbeatTimeout: t.HeartbeatTimeout,
		NoWorkTimeout:    t.NoWorkTimeout,
		IdleTimeout:      t.IdleTimeout,
		AttemptTimeout:   t.AttemptTimeout,
		ToolTimeout:      t.ToolTimeout,
		RetryBase:        t.RetryInitialInterval,
		CleanupWait:      t.CleanupTimeout,
		UnknownRetry:     cfg.Test.UnknownRetry,
		SpawnTimeout:     t.SandboxCreateTimeout,
		MaxSignals:       cfg.Test.MaxSignals,
	}
}

// pollInterval is how often this process looks for what nothing woke it for.
func pollInterval(cfg *config.Loaded) time.Duration {
	return cmp.Or(cfg.Test.RelayPoll, ingest.PollInterval)
}

func hostHeartbeat(cfg *config.Loaded) time.Duration {
	return cmp.Or(cfg.Test.HostHeartbeat, worker.HostHeartbeat)
}

// prices are those of providers as the store takes them.
func prices(p config.Price) map[string]cost.SandboxPrice {
	out := map[string]cost.SandboxPrice{}
	for provider, rate := range p.Rates() {
		out[provider] = cost.SandboxPrice{PerSecond: rate.PerSecond, Currency: rate.Currency}
	}
	return out
}

func limits(s config.Sandbox) sandbox.Limits {
	return sandbox.Limits{
		MemoryBytes: int64(s.MemoryGB * gib), CPUs: s.CPU, DiskBytes: int64(s.DiskGB * gb), Processes: s.Pids,
	}
}

// agentHeartbeat returns how often an agent reports that it is alive: every 30 s, or four times within a
// shorter task.heartbeat_timeout.
func agentHeartbeat(cfg *config.Loaded) time.Duration {
	const longest, times = 30 * time.Second, 4
	return cmp.Or(cfg.Test.AgentHeartbeat, min(longest, cfg.Task.HeartbeatTimeout/times))
}

// relayConfig returns the settings of the relay to Temporal.
func (c *core) relayConfig() ingest.RelayConfig {
	t, hidden := c.cfg.Test, c.cfg.Secrets()
	return ingest.RelayConfig{
		Poll: t.RelayPoll, PulsePeriod: t.ComponentHeartbeat, Pace: ingest.Pace{Lease: t.RelayLease},
		CleanupWait: c.cfg.Task.CleanupTimeout,
		Meter:       c.metrics, Resume: tracing.Resume,
		Scrub: func(title string) string { return redact.Scrub(title, hidden) },
	}
}

// retentionRules are the settings by kind.
func retentionRules(cfg *config.Loaded) retention.Policy {
	r := cfg.Retention
	return retention.Policy{Ahead: cfg.Test.RetentionAhead, Keep: map[string]time.Duration{
		retention.Events: r.Events, retention.LargeFields: r.LargeFields, retention.Transcripts: r.Transcripts, retention.Patches: r.Patches,
		retention.BusRows: r.BusRows, retention.Branches: r.Branches, retention.Refs: r.Refs,
	}}
}
