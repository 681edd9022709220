package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/devstack"
)

// scratch is a folder of this process for what its tests share.
var scratch string

// template is a data directory of PostgreSQL with a migrated database. Creating one takes longer than most tasks.
var template = sync.OnceValues(func() (string, error) {
	cfg := devstack.Config{
		Home: filepath.Join(scratch, "home"), DataRoot: filepath.Join(scratch, "data"),
		TemporalAddress: "none", Log: slog.New(slog.DiscardHandler),
	}
	if err := errors.Join(os.Chmod(scratch, 0o755), os.Mkdir(cfg.Home, 0o755)); err != nil { // PostgreSQL has a user of its own
		return "", err
	}
	stack, err := devstack.Start(context.Background(), cfg)
	if err != nil {
		return "", err
	}
	migrate := exec.CommandContext(context.Background(), filepath.Join(bin, "omoi"), "migrate", "up")
	migrate.Env = environ(map[string]string{"OMOI_HOME": cfg.Home, "HOME": cfg.Home, "DATABASE_URL": stack.Info().DatabaseURL})
	out, err := migrate.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("migrate the template: %w: %s", err, out)
	}
	return filepath.Join(cfg.PrivateDir("postgres"), "data"), errors.Join(err, stack.Close())
})

// copyTemplate gives a stack that starts for the first time a database of the programs under test.
func (r *rig) copyTemplate(cfg devstack.Config) {
	r.t.Helper()
	from, err := template()
	require.NoError(r.t, err)
	dir := cfg.PrivateDir("postgres")
	require.NoError(r.t, os.MkdirAll(dir, 0o755))
	out, err := exec.CommandContext(r.t.Context(), "cp", "-a", from, dir).CombinedOutput()
	require.NoError(r.t, err, string(out))
}
