package app_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// settings returns settings with a home of its own and free ports.
func settings(t *testing.T, environ ...string) *config.Loaded {
	t.Helper()
	if _, err := devstack.FindTemporal(""); err != nil {
		t.Skip("SKIPPED: ", err)
	}
	if devstack.FindPostgres("", "") == "" {
		t.Skip("SKIPPED: no PostgreSQL programs on this machine")
	}
	dir, err := os.MkdirTemp("", "omoi-app-") //nolint:usetesting // other users must be able to enter it
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	cfg, err := config.Load(config.Source{Environ: append([]string{
		"OMOI_HOME=" + filepath.Join(dir, "home"), "OMOI_DEV_POSTGRES_DATA_ROOT=" + filepath.Join(dir, "root"),
		"OMOI_API_PORT=0", "OMOI_DEV_TEMPORAL_PORT=0", "OMOI_DEV_TEMPORAL_UI_PORT=0",
	}, environ...)})
	require.NoError(t, err)
	return cfg
}

// running starts omoi dev and waits until it is ready.
func running(t *testing.T, cfg *config.Loaded) (info devstack.Info, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan devstack.Info, 1), make(chan error, 1)
	go func() {
		ended <- app.RunDev(ctx, cfg, app.Options{Stderr: t.Output(), Ready: func(info devstack.Info) { ready <- info }})
	}()
	select {
	case info = <-ready:
	case err := <-ended:
		require.NoError(t, err)
		t.Fatal("omoi dev has ended by itself")
	}
	return info, func() {
		t.Helper()
		cancel()
		require.NoError(t, <-ended)
	}
}

// heard is a log that several handlers write to concurrently.
type heard struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

func get(t *testing.T, address, host string) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	require.NoError(t, err)
	if host != "" {
		request.Host = host
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var body map[string]any
	require.NoError(t, json.NewDecoder(response.Body).Decode(&body))
	return response.StatusCode, body
}

// omoi dev uses the ports in dev.json, rejects a second start in the same home, rejects web pages, retires dev.json,
// and restarts on the same ports.
func TestDev(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	again := *cfg
	info, stop := running(t, cfg)
	written, err := devstack.ReadInfo(cfg.Home)
	require.NoError(t, err)
	require.Equal(t, info, written)
	require.Equal(t, os.Getpid(), info.PID)
	status, body := get(t, info.APIURL+"/readyz", "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, true, body["ready"])
	status, _ = get(t, info.APIURL+"/api/v1/tasks", "")
	require.Equal(t, http.StatusOK, status)
	status, _ = get(t, info.APIURL+"/api/v1/tasks", "evil.example")
	require.Equal(t, http.StatusForbidden, status)

	err = app.RunDev(t.Context(), &again, app.Options{})
	require.Equal(t, task.CodeConflict, task.CodeOf(err))
	require.ErrorContains(t, err, info.APIURL)
	steps, err := app.MigrateStatus(t.Context(), &again)
	require.NoError(t, err)
	require.NotNil(t, steps[0].AppliedAt)

	stop()
	_, err = devstack.ReadInfo(cfg.Home)
	require.ErrorIs(t, err, os.ErrNotExist)
	second, stop := running(t, &again)
	stop()
	require.Equal(t, info, second)
}

// The first start of a new home tests sandboxes without network as later starts do.
func TestDev_FindsIsolationInNewHome(t *testing.T) {
	t.Parallel()
	cfg := settings(t, "OMOI_API_AUTH_DISABLED=false", "OMOI_API_KEY=a-key-of-some-length", "OMOI_SANDBOX_NETWORK=none")
	var said heard
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := app.RunDev(ctx, cfg, app.Options{Stderr: &said, Ready: func(devstack.Info) { cancel() }})
	require.NoError(t, err)
	require.NotContains(t, said.String(), "find source path")
	require.DirExists(t, filepath.Dir(cfg.API.Socket))
}

// A configured port that is in use is an error, and no server starts.
func TestDev_RejectsUsedPort(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	err = app.RunDev(t.Context(), settings(t, "OMOI_API_PORT="+port), app.Options{})
	require.Equal(t, task.CodeConflict, task.CodeOf(err))
	require.ErrorContains(t, err, "api.port")
}

// The database of another program stays unchanged.
func TestDev_RejectsForeignDatabase(t *testing.T) {
	t.Parallel()
	database := pgtest.EmptyURL(t)
	cfg := settings(t, "DATABASE_URL="+database)
	exec(t, cfg, "CREATE TABLE theirs (id int)")
	err := app.RunDev(t.Context(), cfg, app.Options{})
	require.Equal(t, task.CodeConflict, task.CodeOf(err))
	require.ErrorContains(t, err, "omoi did not create")
}

// omoi dev, API, worker and omoi migrate leave the database of an older build unchanged.
func TestStart_RejectsDatabaseOfOlderBuild(t *testing.T) {
	t.Parallel()
	cfg := settings(t, "DATABASE_URL="+pgtest.EmptyURL(t), "OMOI_API_AUTH_DISABLED=true")
	exec(t, cfg, `CREATE TABLE goose_db_version (id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
		version_id bigint NOT NULL, is_applied boolean NOT NULL, tstamp timestamp NOT NULL DEFAULT now())`)
	exec(t, cfg, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, true), (1, true)`)
	migrate := func(ctx context.Context, cfg *config.Loaded, _ app.Options) error {
		_, err := app.MigrateUp(ctx, cfg)
		return err
	}
	for name, start := range map[string]func(context.Context, *config.Loaded, app.Options) error{
		"dev": app.RunDev, "api": app.RunAPI, "worker": app.RunWorker, "migrate": migrate,
	} {
		again := *cfg
		err := start(t.Context(), &again, app.Options{})
		require.Equal(t, task.CodeConflict, task.CodeOf(err), name)
		require.ErrorContains(t, err, "An older build of omoi created this database", name)
	}
}

// A server with authentication does not start without an API key. OMOI_API_KEY creates the first key.
func TestRunAPI_NeedsKey(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	err := app.RunAPI(t.Context(), settings(t, "DATABASE_URL="+database), app.Options{})
	require.Equal(t, task.CodeUnauthorized, task.CodeOf(err))
	require.ErrorContains(t, err, "OMOI_API_KEY")

	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan devstack.Info, 1), make(chan error, 1)
	keyed := settings(t, "DATABASE_URL="+database, "OMOI_API_KEY=a-key-of-some-length", "OMOI_TEMPORAL_ADDRESS=127.0.0.1:1")
	go func() {
		ended <- app.RunAPI(ctx, keyed, app.Options{Ready: func(info devstack.Info) { ready <- info }})
	}()
	var info devstack.Info
	select {
	case info = <-ready:
	case err := <-ended:
		require.NoError(t, err)
	}
	status, _ := get(t, info.APIURL+"/api/v1/tasks", "")
	require.Equal(t, http.StatusUnauthorized, status)
	cancel()
	require.NoError(t, <-ended)
}

func TestRunAPI_OldSchemaNamesNextStep(t *testing.T) {
	t.Parallel()
	err := app.RunAPI(t.Context(), settings(t, "DATABASE_URL="+pgtest.EmptyURL(t), "OMOI_API_AUTH_DISABLED=true"), app.Options{})
	require.ErrorContains(t, err, "omoi migrate up")
}

func TestMigrateUp(t *testing.T) {
	t.Parallel()
	cfg := settings(t, "DATABASE_URL="+pgtest.EmptyURL(t))
	steps, err := app.MigrateStatus(t.Context(), cfg)
	require.NoError(t, err)
	require.Nil(t, steps[0].AppliedAt)
	steps, err = app.MigrateUp(t.Context(), cfg)
	require.NoError(t, err)
	require.NotNil(t, steps[0].AppliedAt)
}

func exec(t *testing.T, cfg *config.Loaded, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), cfg.Database.URL.Reveal())
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), statement)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}

// The findings name faults and next steps, and contain no password.
func TestCheckup(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(pgtest.EmptyURL(t))
	require.NoError(t, err)
	u.User = url.UserPassword(u.User.Username(), "planted")
	cfg := settings(t, "DATABASE_URL="+u.String(), "OMOI_AGENT_BINARY=/nowhere")
	found := map[string]app.Finding{}
	for _, f := range app.Checkup(t.Context(), cfg) {
		found[f.Check] = f
		require.NotContains(t, f.Detail, "planted")
		if f.Status != app.FindingOK {
			require.NotEmpty(t, f.Next, f.Check)
		}
	}
	require.Equal(t, app.FindingFail, found["omoi-agent"].Status)
	require.True(t, strings.Contains(found["omoi-agent"].Next, "make build"))
	require.Equal(t, app.FindingWarn, found["postgresql"].Status)
	require.Equal(t, app.FindingOK, found["temporal"].Status)
	require.NoDirExists(t, cfg.Home, "looking makes nothing")
}
