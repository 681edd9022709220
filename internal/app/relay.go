package app

import (
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/tracing"
)

// relayConfig is what the relay, which carries accepted facts to Temporal, is told.
func (c *core) relayConfig() ingest.RelayConfig {
	t, hidden := c.cfg.Test, c.cfg.Secrets()
	return ingest.RelayConfig{
		Poll: t.RelayPoll, PulsePeriod: t.ComponentHeartbeat, Pace: ingest.Pace{Lease: t.RelayLease},
		CleanupWait: c.cfg.Task.CleanupTimeout,
		Meter:       c.metrics, Resume: tracing.Resume,
		Scrub: func(title string) string { return redact.Scrub(title, hidden) },
	}
}
