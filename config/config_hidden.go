package config

import "time"

// Test shortens what is a constant of its component, for tests and benchmarks that run the real program. It is no part
// of the documentation, and of omoi config show only where it is set. Zero leaves the constant.
type Test struct {
	RelayPoll          time.Duration `key:"relay_poll_interval"`          // [ingest.PollInterval]
	RelayLease         time.Duration `key:"relay_lease_duration"`         // [ingest.Pace]
	ComponentHeartbeat time.Duration `key:"component_heartbeat_interval"` // [ingest.HeartbeatInterval]
	HostHeartbeat      time.Duration `key:"host_heartbeat_interval"`      // [worker.HostHeartbeat]
	AgentHeartbeat     time.Duration `key:"agent_heartbeat_interval"`     // of [activities.Config]
	MessageLease       time.Duration `key:"message_lease_duration"`       // of [api.Config]
	UnknownRetry       time.Duration `key:"unknown_initial_interval"`     // of [contract.Settings]
	MaxSignals         int           `key:"max_signals_per_run"`          // of [contract.Settings]
	RateLimitStagger   time.Duration `key:"rate_limit_stagger"`           // of [postgres.Config]
	WebhookDebounce    time.Duration `key:"webhook_debounce"`             // of [api.Config]
	MetricsTTL         time.Duration `key:"metrics_cache_ttl"`            // [metrics.CacheTTL]
	RetentionAhead     time.Duration `key:"retention_clock_ahead"`        // time that retention adds to the database's clock
	ShimBinary         string        `key:"shim_binary"`                  // the omoi program between a worker and its local sandboxes
}
