package e2e_test

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// TestImportedTaskIsRetried imports a database of OmoiOS beside a running omoi, and retries the task that was running there.
func TestImportedTaskIsRetried(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	dsn := r.omoiOS("UPDATE projects SET github_owner = NULL, github_repo = NULL")
	const id, box = "77777777-0000-4000-8000-000000000002", "omoios-77777777-bbbbbb"
	command := []string{"import", "omoios", "--dsn", dsn, "--into", "default", "--set", "task.agent=external", "--set", "task.provider=external", "--json"}
	planned, did := r.omoi(append(command, "--dry-run")...), r.omoi(command...)
	require.Zero(t, planned.code, planned.stderr)
	require.Zero(t, did.code, did.stderr)
	require.Equal(t, strings.Replace(planned.stdout, `"dry_run": true`, `"dry_run": false`, 1), did.stdout)

	got := r.task(id)
	require.Equal(t, task.StatusFailed, got.Status)
	require.Equal(t, task.ReasonImported, got.EndReason.Code)
	require.Equal(t, int64(2), got.Attempts[0].Events)
	logs := r.omoi("logs", "77777777-0000-4000-8000-000000000001")
	require.Zero(t, logs.code, logs.stdout+logs.stderr)
	require.Less(t, strings.Index(logs.stdout, "first"), strings.Index(logs.stdout, "second"), logs.stdout)
	why := r.omoi("why", id)
	require.Contains(t, why.stdout, "omoi retry", why.stderr)

	require.Zero(t, r.omoi("retry", id).code)
	a := r.agentOf(id, 2)
	require.NotEqual(t, box, a.box)
	a.says(newEvent("agent.started"), newEvent("continuous.completed", `{"validation_passed":true}`))
	got = r.until(id, "ends", func(t task.Task) bool { return t.Status.Final() })
	require.Equal(t, 2, got.AttemptCount)
	r.gapless()

	again := r.omoi(command...)
	require.Zero(t, again.code, again.stderr)
	var report struct {
		Kinds []struct {
			Table    string `json:"table"`
			Imported int    `json:"imported"`
		} `json:"kinds"`
	}
	require.NoError(t, json.Unmarshal([]byte(again.stdout), &report))
	for _, k := range report.Kinds {
		require.Zero(t, k.Imported, k.Table)
	}
	require.Equal(t, got.Status, r.task(id).Status, "a repeated import leaves the task alone")
}

// omoiOS makes a database of OmoiOS beside that of omoi and returns its address.
func (r *rig) omoiOS(changes string) string {
	r.t.Helper()
	_, err := r.pool.Exec(context.Background(), "CREATE DATABASE omoios")
	require.NoError(r.t, err)
	u, err := url.Parse(r.env["DATABASE_URL"])
	require.NoError(r.t, err)
	u.Path = "/omoios"
	conn, err := pgx.Connect(context.Background(), u.String())
	require.NoError(r.t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	schema, err := os.ReadFile("../omoios/testdata/omoios.sql.txt")
	require.NoError(r.t, err)
	_, err = conn.Exec(context.Background(), string(schema)+changes)
	require.NoError(r.t, err)
	return u.String()
}
