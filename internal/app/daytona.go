package app

import (
	"log/slog"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/sandbox/daytona"
)

// newDaytona makes the provider, also without a key: what exists must be accounted for, and a
// task that asks for it must hear what is missing.
func newDaytona(cfg *config.Loaded, log *slog.Logger) (*daytona.Provider, error) {
	return daytona.New(daytona.Config{
		APIKey: cfg.Daytona.APIKey.Reveal(), APIURL: cfg.Daytona.APIURL, Target: cfg.Daytona.Target,
		LongestCreate: cfg.Daytona.MaxCreateDelay,
		Snapshot:      cfg.Sandbox.Snapshot, Image: cfg.Sandbox.Image, Limits: limits(cfg.Sandbox),
	}, log)
}
