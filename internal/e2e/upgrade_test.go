package e2e_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// frozenSince is the file since whose last change schema and histories are frozen.
const frozenSince = "migrations/FROZEN"

// TestRunningTasksSurviveANewBinary starts tasks with the programs and the schema of an older build, migrates the database below them,
// kills API and worker in mid-run, and finishes the tasks with the programs under test, over the same home, database and running
// sandboxes (P9).
func TestRunningTasksSurviveANewBinary(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("../../.git"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("SKIPPED: the source is an archive without a git history")
	}
	for build, commit := range olderBuilds(t) {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			upgrade(t, buildCommit(t, commit))
		})
	}
}

// olderBuilds returns the commits from which an upgrade must work: the one since which schema and histories are frozen, and the one
// before the newest migration that was added since.
func olderBuilds(t *testing.T) map[string]string {
	t.Helper()
	text := git(t, "rev-parse", "HEAD:"+frozenSince)
	frozen, _, _ := strings.Cut(git(t, "log", "--reverse", "--format=%H", "--find-object="+text, "--", frozenSince), "\n")
	require.NotEmpty(t, frozen, "%s was never committed", frozenSince)
	builds := map[string]string{"from the frozen baseline": frozen}
	if migrated := git(t, "log", "-1", "--format=%H", "--diff-filter=A", frozen+"..HEAD", "--", "migrations/*.sql"); migrated != "" {
		if before := git(t, "rev-parse", migrated+"^"); before != frozen {
			builds["from before the newest migration"] = before
		}
	}
	return builds
}

// git runs git in the checkout of the tests and returns what it prints.
func git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", "../.."}, args...)...).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// upgrade runs the test with older programs, which are in a folder.
func upgrade(t *testing.T, older string) {
	t.Helper()
	r := newRigOf(t, older, nil)
	host := strings.TrimPrefix(r.env["OMOI_API_URL"], "http://")
	answers.Ignore(host, true)
	repo := r.repo()
	r.startAPI()
	r.startWorker()
	done := r.submit(repo, script(stepWrite, stepCommit, stepComplete), asSandbox)
	r.ends(done.ID, task.StatusCompleted)
	working := r.submit(repo, script(stepWrite, stepUntilReleased, stepCommit, stepComplete), asSandbox)
	failing := r.submit(repo, script(stepWrite, stepUntilReleased, `{"fail":"the test says so"}`), retries(0), asSandbox)
	hanging := r.submit(repo, script(stepWrite, stepHang), asSandbox)
	for _, made := range []task.Task{working, failing, hanging} {
		r.running(made.ID)
	}
	migrated := r.run(filepath.Join(bin, "omoi"), "migrate", "up")
	require.Zero(t, migrated.code, migrated.stderr)
	r.ends(r.submit(repo, script(stepWrite, stepCommit, stepComplete), asSandbox).ID, task.StatusCompleted) // by the older programs, with the new schema
	r.kill("worker")
	r.kill("api")

	r.programs = bin
	answers.Ignore(host, false)
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
	require.Equal(t, 5, r.count(`SELECT count(*) FROM sandboxes`), "one sandbox a task")
}

// asSandbox names the provider by the field that also the frozen baseline knows.
func asSandbox(in *apiclient.CreateTaskRequest) { in.Provider, in.Sandbox = "", in.Provider }

// buildCommit builds the programs of a commit and returns their folder.
func buildCommit(t *testing.T, commit string) string {
	t.Helper()
	source, err := os.MkdirTemp("", "omoi-e2e-older-") //nolint:usetesting // sandboxes of other users start from it
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(source) })
	require.NoError(t, os.Chmod(source, 0o755))
	unpack := exec.CommandContext(t.Context(), "sh", "-c", `git -C ../.. archive --format=tar "$0" | tar -x -C "$1"`, commit, source)
	out, err := unpack.CombinedOutput()
	require.NoError(t, err, "unpack %s: %s", commit, out)
	programs := filepath.Join(source, "programs")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", programs+"/", "./cmd/omoi", "./cmd/omoi-agent")
	build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	out, err = build.CombinedOutput()
	require.NoError(t, err, "build %s: %s", commit, out)
	t.Logf("the older programs are those of %s", commit)
	return programs
}
