package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/sandbox/daytona"
	"github.com/omoi-dev/omoi/internal/task"
)

// newDaytona returns the Daytona provider. Without a key the provider opens too, because existing sandboxes must stay
// accounted for and tasks need an error that names the missing key.
func newDaytona(cfg *config.Loaded, log *slog.Logger) (*daytona.Provider, error) {
	return daytona.New(daytona.Config{
		APIKey: cfg.Daytona.APIKey.Reveal(), APIURL: cfg.Daytona.APIURL, Target: cfg.Daytona.Target,
		LongestCreate: cfg.Daytona.MaxCreateDelay,
		Snapshot:      cfg.Sandbox.Snapshot, Image: cfg.Sandbox.Image, Limits: limits(cfg.Sandbox),
	}, log)
}

const daytonaTimeout = 5 * time.Second

// checkDaytona checks the Daytona account. Without a key checkDaytona sends no request.
func checkDaytona(ctx context.Context, cfg *config.Loaded) Finding {
	found := Finding{Check: "daytona", Status: FindingOK}
	if beside := *cfg; besideEmulator(&beside) {
		found.Detail = "the emulator of the running omoi dev; no API key for Daytona's cloud"
		return found
	}
	if cfg.Daytona.APIKey == "" {
		found.Detail, found.Next = "not configured: no API key", "set DAYTONA_API_KEY; see docs/DAYTONA.md. To try it without an account: omoi dev --with-daytona-emulator"
		return found
	}
	p, err := newDaytona(cfg, slog.New(slog.DiscardHandler))
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, daytonaTimeout)
		defer cancel()
		found.Detail, err = p.Check(ctx)
	}
	if err != nil {
		found.Status, found.Detail, found.Next = FindingWarn, task.MessageOf(err), "see docs/DAYTONA.md"
	}
	return found
}
