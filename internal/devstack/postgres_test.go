package devstack_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/devstack"
)

// After a power failure the lock file of the socket may name an unrelated process.
func TestPostgres_IgnoresAForeignSocketLock(t *testing.T) {
	t.Parallel()
	cfg := prepared(t)
	first, err := devstack.Start(t.Context(), cfg)
	require.NoError(t, err)
	socket := folderOf(t, first.Info())
	require.NoError(t, first.Close())
	foreign := exec.CommandContext(t.Context(), "sleep", "1000")
	var owner syscall.Stat_t
	require.NoError(t, syscall.Stat(socket, &owner)) // PostgreSQL ignores processes of other users
	foreign.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid, NoSetGroups: true}}
	require.NoError(t, foreign.Start())
	defer func() { _ = foreign.Wait() }()
	defer func() { _ = foreign.Process.Kill() }()
	stale := fmt.Sprintf("%d\n/elsewhere\n1\n5432\n%s\n\n", foreign.Process.Pid, socket)
	require.NoError(t, os.WriteFile(filepath.Join(socket, ".s.PGSQL.5432.lock"), []byte(stale), 0o644))
	cfg.StartTimeout = 20 * time.Second
	start(t, cfg)
}

func folderOf(t *testing.T, info devstack.Info) string {
	t.Helper()
	u, err := url.Parse(info.DatabaseURL)
	require.NoError(t, err)
	return u.Query().Get("host")
}
