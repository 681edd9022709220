package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/devstack"
)

// Whoever removed home alone to begin anew is told what goes on, and where it is.
func TestNewHomeSaysThatTheDatabaseIsOld(t *testing.T) {
	t.Parallel()
	cfg := fresh(t, "OMOI_API_PORT=0", "OMOI_API_AUTH_DISABLED=true")
	var said []string
	d := &dev{cfg: cfg, opts: Options{Progress: func(step string) { said = append(said, step) }}}
	require.NoError(t, d.settle(t.Context()))
	require.Empty(t, said, "nothing goes on")

	here := place(cfg)
	data := filepath.Join(here.PrivateDir("postgres"), "data")
	require.NoError(t, os.MkdirAll(data, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("16\n"), 0o600))
	require.NoError(t, d.settle(t.Context()))
	if os.Geteuid() != 0 {
		require.Empty(t, said, "an ordinary user's database is below home")
		return
	}
	require.Contains(t, strings.Join(said, "\n"), "goes on with the database in "+here.PrivateDir(""))

	said = nil
	require.NoError(t, os.MkdirAll(cfg.Home, 0o700))
	require.NoError(t, devstack.WriteInfo(cfg.Home, devstack.Info{APIURL: "http://127.0.0.1:1"}))
	require.NoError(t, d.settle(t.Context()))
	require.Empty(t, said, "that is not the first start")
}
