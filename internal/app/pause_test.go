package app_test

import (
	"context"
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/devstack"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// The legacy pause switch holds back new tasks while it is set.
func TestPauseSwitch(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	pool := pgtest.Connect(t, database)
	key := "OMOI_TOKEN_KEY=tests." + base64.StdEncoding.EncodeToString([]byte("one-installation-one-key-of-tokens"))
	for _, want := range []bool{true, false} {
		enabled := "ORCHESTRATOR_ENABLED=true"
		if want {
			enabled = "ORCHESTRATOR_ENABLED=false"
		}
		ctx, cancel := context.WithCancel(t.Context())
		ready, ended := make(chan devstack.Info, 1), make(chan error, 1)
		cfg := settings(t, "DATABASE_URL="+database, "OMOI_API_AUTH_DISABLED=true", "OMOI_TEMPORAL_ADDRESS=127.0.0.1:1", key, enabled)
		go func() {
			ended <- app.RunAPI(ctx, cfg, app.Options{Ready: func(info devstack.Info) { ready <- info }})
		}()
		select {
		case <-ready:
		case err := <-ended:
			require.NoError(t, err)
		}
		var paused bool
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT paused FROM organizations").Scan(&paused))
		require.Equal(t, want, paused)
		cancel()
		require.NoError(t, <-ended)
	}
}
