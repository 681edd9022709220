package app

import (
	"cmp"
	"context"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/omoios"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// ImportOptions are the options of an import from OmoiOS.
type ImportOptions = omoios.Options

// ImportReport says what an import did with each row.
type ImportReport = omoios.Report

// ImportKeyVariable is the environment variable with the key that encrypts credentials in OmoiOS.
const ImportKeyVariable = omoios.KeyVariable

// ImportOmoiOS imports a database of OmoiOS into that of the configuration.
func ImportOmoiOS(ctx context.Context, cfg *config.Loaded, o ImportOptions) (ImportReport, error) {
	url, err := databaseURL(cfg)
	if err != nil {
		return ImportReport{}, err
	}
	steps, err := postgres.Status(ctx, url)
	if err != nil {
		return ImportReport{}, err
	}
	if outdated(steps) {
		return ImportReport{}, task.Errorf(task.CodeUnavailable, "The schema of the database is older than this binary. Next: omoi migrate up")
	}
	pool, err := postgres.Connect(ctx, url)
	if err != nil {
		return ImportReport{}, err
	}
	defer pool.Close()
	if o.Ring, err = importRing(ctx, cfg, url, o.DryRun); err != nil {
		return ImportReport{}, err
	}
	o.Agent, o.Provider, o.MaxSlots = cmp.Or(cfg.Task.Agent, task.AgentClaude), cfg.Task.Provider, cfg.Task.MaxConcurrentPerProject
	return omoios.Run(ctx, pool, o)
}

// importRing returns the keys that encrypt imported credentials: those with which the server decrypts. A dry run creates
// no key.
func importRing(ctx context.Context, cfg *config.Loaded, url string, dryRun bool) (*credential.Ring, error) {
	ring, err := presentRing(cfg)
	if err != nil {
		return nil, err
	}
	found, err := credentialHealth(ctx, ring, url)
	switch {
	case err != nil:
		return nil, err
	case found.Unreadable > 0:
		return nil, task.Errorf(task.CodeConflict, "This machine lacks the keys that encrypt credentials of the installation. Next: set OMOI_CREDENTIAL_KEYS as the server has them, or run the command there")
	case ring != nil:
		return ring, nil
	case dryRun:
		return credential.ParseRing(credential.NewKey())
	}
	return credentialRing(cfg)
}
