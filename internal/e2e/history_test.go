package e2e_test

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// Of large repositories the newest commits go in, at GitHub and on this machine, and what comes out goes on from all the others.
func TestLargeRepositories(t *testing.T) {
	t.Parallel()
	_, bare, settings := newHub(t)
	settings["OMOI_WORKER_FULL_CLONE_MAX_BYTES"], settings["OMOI_WORKER_CLONE_DEPTH"] = "1", "2"
	r := newRig(t, settings).up()
	local := r.repo()
	for _, dir := range []string{local, bare} {
		clone := filepath.Join(r.dir, "clone of "+filepath.Base(filepath.Dir(dir)))
		r.git("clone", "-q", dir, clone)
		for n := range 5 {
			r.git("-C", clone, "-c", "user.name=p", "-c", "user.email=p@example.invalid", "commit", "-q", "--allow-empty", "-m", strconv.Itoa(n))
		}
		r.git("-C", clone, "push", "-q", "origin", "HEAD:main")
	}

	for name, dir := range map[string]string{hubRepo: bare, local: local} {
		r.git("-C", dir, "repack", "-q", "-a", "-d")
		commits := r.git("-C", dir, "rev-list", "--count", "main")
		made := r.submit(name, script(`{"bash":{"command":"test $(git rev-list --count HEAD) = 2"}}`, stepWrite, stepCommit, stepComplete))
		branch := text(r.ends(made.ID, task.StatusCompleted).Branch)
		require.Equal(t, commits, r.git("-C", dir, "rev-list", "--count", branch+"~1"), "of %s", name)
		require.Equal(t, "hello\n", r.git("-C", dir, "show", branch+":hello.txt"))
	}
	r.noLeaks()
}

// git runs git, and fails the test where it fails.
func (r *rig) git(args ...string) string {
	r.t.Helper()
	out := r.run("git", args...)
	require.Zero(r.t, out.code, out.stderr)
	return out.stdout
}
