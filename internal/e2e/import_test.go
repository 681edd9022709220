package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
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

// TestImportedTaskIsRetried_OnItsBranch retries a task whose branch is in a repository. The commits of OmoiOS stay, and are no work of
// the next attempt.
func TestImportedTaskIsRetried_OnItsBranch(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	repo, branch := r.repo(), "feature/66666666-0000-4000-8000-000000000001-logout"
	push := func(from, file string) {
		res := r.run("sh", "-c", `set -e; d=$(mktemp -d); git clone -q -b "$2" "$1" "$d/w"; cd "$d/w"; git switch -qC "$3"; echo x > "$4"; git add -A
			git -c user.name=t -c user.email=t@example.com commit -qm "$4"; git push -q origin "$3"`, "sh", repo, from, branch, file)
		require.Zero(t, res.code, res.stderr)
	}
	push("main", "omoios.txt")
	dsn := r.omoiOS("UPDATE projects SET github_owner = NULL, github_repo = NULL")
	const id = "77777777-0000-4000-8000-000000000002"
	did := r.omoi("import", "omoios", "--dsn", dsn, "--into", "default", "--set", "task.agent=external", "--set", "task.provider=external")
	require.Zero(t, did.code, did.stderr)
	_, err := r.pool.Exec(context.Background(), `UPDATE projects SET repo = $1 WHERE id = (SELECT project_id FROM tasks WHERE id = $2)`, repo, id)
	require.NoError(t, err)

	require.Zero(t, r.omoi("retry", id).code)
	passed := newEvent("continuous.completed", `{"validation_passed":true}`)
	r.agentOf(id, 2).says(newEvent("agent.started"), passed)
	third := r.agentOf(id, 3)
	require.Equal(t, task.ReasonNoCommit, r.task(id).Attempts[1].EndReason.Code)
	push(branch, "omoi.txt")
	third.says(newEvent("agent.started"), passed)
	got := r.ends(id, task.StatusCompleted)
	require.Equal(t, branch, text(got.Branch))
	require.NotNil(t, got.PullURL)
	require.Equal(t, "omoi.txt\nomoios.txt\n", r.run("git", "-C", repo, "ls-tree", "--name-only", branch).stdout)
	r.gapless()
}

// killer kills a program that has written a number of lines.
type killer struct {
	cmd   *exec.Cmd
	lines int
}

// Write implements [io.Writer].
func (k *killer) Write(p []byte) (int, error) {
	if k.lines -= bytes.Count(p, []byte("\n")); k.lines <= 0 {
		_ = k.cmd.Process.Kill()
	}
	return len(p), nil
}

// TestImport_KilledAndRepeated kills the program after each line of progress, until one import ends.
func TestImport_KilledAndRepeated(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	dsn := r.omoiOS(`;INSERT INTO tasks (id, ticket_id, title, status, sandbox_id) SELECT gen_random_uuid(), '66666666-0000-4000-8000-000000000001', 'Task ' || n, 'completed', 'box-' || n
			FROM generate_series(1, 1500) n;
		INSERT INTO sandbox_events SELECT 'e' || n, 'box-' || (n % 1500 + 1), NULL, 'agent.message', jsonb_build_object('content', n), 'agent', timestamptz '2026-02-01' + n * interval '1 second'
			FROM generate_series(1, 45000) n`)
	command := []string{"import", "omoios", "--dsn", dsn, "--into", "default"}
	kills := 0
	for ended := false; !ended; {
		k := &killer{lines: kills + 1}
		k.cmd = exec.CommandContext(context.Background(), r.program(), command...)
		k.cmd.Env, k.cmd.Dir, k.cmd.Stderr = environ(r.env), r.dir, k
		done, err := tied(k.cmd)
		require.NoError(t, err)
		<-done
		if ended = k.cmd.ProcessState.Success(); !ended {
			require.Equal(t, -1, k.cmd.ProcessState.ExitCode(), "it was killed")
			kills++
		}
	}
	require.Greater(t, kills, 8)
	require.Equal(t, 1500, r.count(`SELECT count(*) FROM tasks WHERE title LIKE 'Task %' AND attempt_count = 1`))
	require.Equal(t, 45000, r.count(`SELECT count(DISTINCT key) FROM sandbox_events WHERE sandbox_id LIKE 'box-%'`))
	require.Zero(t, r.count(`SELECT count(*) FROM sandboxes s WHERE s.id LIKE 'box-%' AND (s.last_sequence <> 30
		OR 30 <> (SELECT count(*) FROM sandbox_events e WHERE e.sandbox_id = s.id))`))
	require.Equal(t, 1500, r.count(`SELECT count(*) FROM sandboxes s JOIN attempts a ON a.sandbox_id = s.id WHERE s.id LIKE 'box-%'`))
	require.Zero(t, r.count(`SELECT count(*) FROM bus_events`))
	again := r.omoi(append(command, "--json")...)
	require.Zero(t, again.code, again.stderr)
	require.NotRegexp(t, `"imported": [1-9]`, again.stdout)
}
