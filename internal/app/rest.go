package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
)

// atRest refuses a database that a process of omoi uses: without its tables everything in
// that process fails.
func atRest(ctx context.Context, cfg *config.Loaded, database string) error {
	info, err := devstack.ReadInfo(cfg.Home)
	if err == nil && info.DatabaseURL == database && isReady(ctx, info.APIURL) {
		return task.Errorf(task.CodeConflict, "omoi dev uses this database (pid %d); %s", info.PID, afterDev(cfg))
	}
	age, found, err := lastSign(ctx, cfg, database)
	if err != nil || !found {
		return err
	}
	return task.Errorf(task.CodeConflict, "a process of omoi that uses this database has shown a sign of life %s ago; "+
		"stop every omoi dev, api and worker and run the same command again; where none runs any more, in half a minute",
		age.Round(time.Second))
}

// afterDev is what to do once omoi dev has stopped. Its own database stops with it.
func afterDev(cfg *config.Loaded) string {
	if cfg.Database.URL == "" {
		return "to begin anew stop it (Ctrl-C) and remove " + kept(cfg)
	}
	return "stop it (Ctrl-C) and run the same command again"
}

// kept names the folders that hold all of an installation.
func kept(cfg *config.Loaded) string {
	here := place(cfg)
	if other := filepath.Clean(here.PrivateDir("")); other != filepath.Clean(cfg.Home) {
		return cfg.Home + " and " + other
	}
	return cfg.Home
}

// lastSign answers the age of the youngest sign of life in the database, if it is of something
// that still lives by the measure of this configuration.
func lastSign(ctx context.Context, cfg *config.Loaded, database string) (age time.Duration, found bool, err error) {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return 0, false, task.Errorf(task.CodeUnavailable, "the database does not answer; correct DATABASE_URL, or start its server").WithCause(err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var there bool
	if err := conn.QueryRow(ctx, `SELECT to_regclass('component_heartbeats') IS NOT NULL AND to_regclass('hosts') IS NOT NULL`).Scan(&there); err != nil || !there {
		return 0, false, err
	}
	const missed = 3
	var seconds *float64
	err = conn.QueryRow(ctx, `SELECT extract(epoch FROM now() - max(at))::float8 FROM (
		SELECT at FROM component_heartbeats WHERE at > now() - make_interval(secs => $1)
		UNION ALL SELECT seen_at FROM hosts WHERE lost_at IS NULL AND seen_at > now() - make_interval(secs => $2)) AS signs (at)`,
		missed*componentHeartbeat(cfg).Seconds(), missed*hostHeartbeat(cfg).Seconds()).Scan(&seconds)
	if err != nil {
		return 0, false, fmt.Errorf("look for signs of life: %w", err)
	}
	if seconds == nil {
		return 0, false, nil
	}
	return time.Duration(max(*seconds, 0) * float64(time.Second)), true, nil
}
