package app

import (
	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/internal/ingest"
)

// relayConfig is what the relay, which carries accepted facts to Temporal, is told.
func (c *core) relayConfig() ingest.RelayConfig {
	r, hidden := c.cfg.Relay, secrets(c.cfg)
	return ingest.RelayConfig{
		Workers: r.Parallel, Poll: r.Interval, PulsePeriod: r.Pulse, Pace: ingest.Pace{Lease: r.Lease},
		Scrub: func(title string) string { return activities.Scrub(title, hidden) },
	}
}
