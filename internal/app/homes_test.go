package app_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/devstack"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// A worker with a different token key would create sandboxes whose tokens the API rejects, so the worker does not
// start.
func TestRunWorker_RejectsOtherTokenKey(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan devstack.Info, 1), make(chan error, 1)
	first := settings(t, "DATABASE_URL="+database, "OMOI_API_AUTH_DISABLED=true", "OMOI_TEMPORAL_ADDRESS=127.0.0.1:1")
	go func() {
		ended <- app.RunAPI(ctx, first, app.Options{Ready: func(info devstack.Info) { ready <- info }})
	}()
	select {
	case <-ready:
	case err := <-ended:
		require.NoError(t, err)
	}
	other := settings(t, "DATABASE_URL="+database, "OMOI_TEMPORAL_ADDRESS=127.0.0.1:1")
	err := app.RunWorker(t.Context(), other, app.Options{})
	require.ErrorContains(t, err, "set OMOI_TOKEN_KEY to the same key on every machine")
	require.Equal(t, exit.NeedsYou, exit.Code(err))
	cancel()
	require.NoError(t, <-ended)
}

// lines is a log with a wait function.
type lines struct {
	mu   sync.Mutex
	all  bytes.Buffer
	want string
	seen func()
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Write(p)
	if strings.Contains(l.all.String(), l.want) {
		l.seen()
	}
	return len(p), nil
}

// An API address that does not answer would lose the events of agents.
func TestRunWorker_WarnsWithoutCallbackURL(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg := settings(t, "DATABASE_URL="+pgtest.URL(t), "OMOI_TEMPORAL_ADDRESS=127.0.0.1:1", "OMOI_API_PORT=1")
	log := &lines{want: "set CALLBACK_URL", seen: cancel}
	require.NoError(t, app.RunWorker(ctx, cfg, app.Options{Stderr: log}))
	require.Contains(t, log.all.String(), "WARN")
}
