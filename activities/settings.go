package activities

import (
	"cmp"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
)

// defaultSettings are the durations and limits of DESIGN.
func defaultSettings() contract.Settings {
	return contract.Settings{
		StartupTimeout:   3 * time.Minute,
		HeartbeatTimeout: 2 * time.Minute,
		NoWorkTimeout:    15 * time.Minute,
		IdleTimeout:      10 * time.Minute,
		AttemptTimeout:   4 * time.Hour,
		ToolTimeout:      30 * time.Minute,
		RetryBase:        5 * time.Second,
		LimitSleep:       5 * time.Minute,
		CleanupWait:      2 * time.Minute,
		UnknownRetry:     10 * time.Second,
		SpawnTimeout:     10 * time.Minute,
		MaxSignals:       2000,
	}
}

// withDefaults fills what s leaves zero from d.
func withDefaults(s, d contract.Settings) contract.Settings {
	return contract.Settings{
		StartupTimeout:   cmp.Or(s.StartupTimeout, d.StartupTimeout),
		HeartbeatTimeout: cmp.Or(s.HeartbeatTimeout, d.HeartbeatTimeout),
		NoWorkTimeout:    cmp.Or(s.NoWorkTimeout, d.NoWorkTimeout),
		IdleTimeout:      cmp.Or(s.IdleTimeout, d.IdleTimeout),
		AttemptTimeout:   cmp.Or(s.AttemptTimeout, d.AttemptTimeout),
		ToolTimeout:      cmp.Or(s.ToolTimeout, d.ToolTimeout),
		RetryBase:        cmp.Or(s.RetryBase, d.RetryBase),
		LimitSleep:       cmp.Or(s.LimitSleep, d.LimitSleep),
		CleanupWait:      cmp.Or(s.CleanupWait, d.CleanupWait),
		UnknownRetry:     cmp.Or(s.UnknownRetry, d.UnknownRetry),
		SpawnTimeout:     cmp.Or(s.SpawnTimeout, d.SpawnTimeout),
		MaxSignals:       cmp.Or(s.MaxSignals, d.MaxSignals),
	}
}
