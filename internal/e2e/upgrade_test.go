package e2e_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// TestRunningTasksSurviveANewBinary starts tasks with the programs of the commit before,
// kills API and worker in mid-run, and finishes them with those of this one, over the same
// home, database and running sandboxes (P9). The schema is the new one throughout: it is
// brought up to date before the processes are.
func TestRunningTasksSurviveANewBinary(t *testing.T) {
	t.Parallel()
	earlier := buildAncestor(t)
	r := newRig(t, nil)
	repo := r.repo()
	r.programs = earlier
	r.startAPI()
	r.startWorker()
	done := r.submit(repo, script(stepWrite, stepCommit, stepComplete))
	r.ends(done.ID, task.StatusCompleted)
	working := r.submit(repo, script(stepWrite, stepUntilReleased, stepCommit, stepComplete))
	failing := r.submit(repo, script(stepWrite, stepUntilReleased, `{"fail":"the test says so"}`), retries(0))
	hanging := r.submit(repo, script(stepWrite, stepHang))
	for _, made := range []task.Task{working, failing, hanging} {
		r.running(made.ID)
	}
	r.kill("worker")
	r.kill("api")

	r.programs = bin
	r.startAPI()
	r.startWorker()
	require.Equal(t, task.StatusCompleted, r.task(done.ID).Status)
	r.release(working.ID)
	r.release(failing.ID)
	_, _, err := r.api.Cancel(context.Background(), hanging.ID, "by the new one")
	require.NoError(t, err)
	for id, status := range map[string]task.Status{working.ID: task.StatusCompleted, failing.ID: task.StatusFailed, hanging.ID: task.StatusCancelled} {
		got := r.ends(id, status)
		require.Equal(t, 1, got.AttemptCount, "%s %+v", status, got.Attempts)
	}
	require.Equal(t, "hello\n", r.run("git", "-C", repo, "show", text(r.task(working.ID).Branch)+":hello.txt").stdout)
	r.noLeaks()
	r.gapless()
	require.Equal(t, 4, r.count(`SELECT count(*) FROM sandboxes`), "one sandbox a task")
}

// sameBaseline reports whether the commit unpacked in source creates the tables and functions that this one creates: programs
// with another baseline do not work with the schema of this build.
func sameBaseline(t *testing.T, source string) bool {
	t.Helper()
	for _, name := range []string{"migrations/0001_schema.sql", "migrations/0002_functions.sql"} {
		now, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		if then, err := os.ReadFile(filepath.Join(source, name)); err != nil || !bytes.Equal(now, then) {
			return false
		}
	}
	return true
}

// buildAncestor builds the programs of the newest commit before this one that has the same
// baseline of the schema and can be built, and returns their folder.
func buildAncestor(t *testing.T) string {
	t.Helper()
	ctx := context.Background()
	for _, commit := range []string{"HEAD~1", "HEAD~2", "HEAD~3", "HEAD~4", "HEAD~5"} {
		source, err := os.MkdirTemp("", "omoi-e2e-ancestor-") //nolint:usetesting // sandboxes of other users start from it
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(source) })
		require.NoError(t, os.Chmod(source, 0o755))
		unpack := exec.CommandContext(ctx, "sh", "-c", `git -C ../.. archive --format=tar "$0" | tar -x -C "$1"`, commit, source)
		if out, err := unpack.CombinedOutput(); err != nil || !exists(filepath.Join(source, "go.mod")) {
			t.Skipf("SKIPPED: this is no git checkout with a commit before: %s", out)
		}
		if !sameBaseline(t, source) {
			t.Logf("%s has another baseline of the schema", commit)
			continue
		}
		programs := filepath.Join(source, "programs")
		build := exec.CommandContext(ctx, "go", "build", "-o", programs+"/", "./cmd/omoi", "./cmd/omoi-agent")
		build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		if err == nil {
			t.Logf("the earlier programs are those of %s", commit)
			return programs
		}
		t.Logf("%s does not build: %s", commit, out)
	}
	t.Skip("SKIPPED: none of the five commits before this one has this baseline of the schema and builds")
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
