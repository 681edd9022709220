package app

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// Step is one step of the schema.
type Step struct {
	Version   int64      `json:"version"`
	Name      string     `json:"name"`
	AppliedAt *time.Time `json:"applied_at"` // null: not applied
}

// Migration does something to the schema and answers its steps afterwards.
type Migration func(ctx context.Context, cfg *config.Loaded) ([]Step, error)

// MigrateUp brings the schema to the newest version.
func MigrateUp(ctx context.Context, cfg *config.Loaded) ([]Step, error) {
	return migrated(ctx, cfg, postgres.Migrate)
}

// MigrateStatus changes nothing.
func MigrateStatus(ctx context.Context, cfg *config.Loaded) ([]Step, error) {
	return migrated(ctx, cfg, func(context.Context, string) error { return nil })
}

func migrated(ctx context.Context, cfg *config.Loaded, do func(ctx context.Context, url string) error) ([]Step, error) {
	url, err := databaseURL(cfg)
	if err != nil {
		return nil, err
	}
	if err := do(ctx, url); err != nil {
		return nil, err
	}
	found, err := postgres.Status(ctx, url)
	if err != nil {
		return nil, err
	}
	steps := make([]Step, 0, len(found))
	for _, m := range found {
		step := Step{Version: m.Version, Name: m.Name}
		if !m.AppliedAt.IsZero() {
			step.AppliedAt = &m.AppliedAt
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// databaseURL is the configured database, else that of a running omoi dev.
func databaseURL(cfg *config.Loaded) (string, error) {
	if cfg.Database.URL != "" {
		return cfg.Database.URL.Reveal(), nil
	}
	if info, err := devstack.ReadInfo(cfg.Home); err == nil && info.DatabaseURL != "" {
		return info.DatabaseURL, nil
	}
	return "", task.Errorf(task.CodeUnavailable, "no database is known; set DATABASE_URL, or start omoi dev")
}
