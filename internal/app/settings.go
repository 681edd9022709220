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

// taskSettings returns the settings that the history of each new task stores.
func taskSettings(cfg *config.Loaded) contract.Settings {
	t := cfg.Task
	return contract.Settings{
		StartupTimeout:   t.StartupTimeout,
		HeartbeatTimeout: t.HeartbeatTimeout,
		NoWorkTimeout:    t.NoWorkTimeout,
		IdleTimeout:      t.IdleTimeout,
		QuestionWait:     t.QuestionWait,
		AttemptTimeout:   t.AttemptTimeout,
		ToolTimeout:      t.ToolTimeout,
		RetryBase:        t.RetryInitialInterval,
		CleanupWait:      t.CleanupTimeout,
		UnknownRetry:     cfg.Test.UnknownRetry,
		SpawnTimeout:     t.SandboxCreateTimeout,
		MaxSignals:       cfg.Test.MaxSignals,
	}
}

// pollInterval returns how often this process polls for work without a notification.
func pollInterval(cfg *config.Loaded) time.Duration {
	return cmp.Or(cfg.Test.RelayPoll, ingest.PollInterval)
}

func hostHeartbeat(cfg *config.Loaded) time.Duration {
	return cmp.Or(cfg.Test.HostHeartbeat, worker.HostHeartbeat)
}

// prices returns the sandbox prices by provider.
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

// agentHeartbeat returns the interval of agent heartbeats: 30 seconds, or a quarter of task.heartbeat_timeout if that
// is less.
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

// retentionRules returns the retention time of each kind of data.
func retentionRules(cfg *config.Loaded) retention.Policy {
	r := cfg.Retention
	return retention.Policy{Ahead: cfg.Test.RetentionAhead, Keep: map[string]time.Duration{
		retention.Events: r.Events, retention.LargeFields: r.LargeFields, retention.Transcripts: r.Transcripts,
		retention.Checkpoints: r.Checkpoints, retention.Patches: r.Patches, retention.BusRows: r.BusRows, retention.Branches: r.Branches, retention.Refs: r.Refs,
	}}
}
