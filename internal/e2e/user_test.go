package e2e_test

import (
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// TestDevAsAnOrdinaryUser runs omoi dev and a task as somebody who is not root, in a home of
// his own. As an ordinary user the other tests of omoi dev show the same.
func TestDevAsAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can become another user; as this user TestDevGoesOnAfterKill shows it")
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip("SKIPPED: this machine has no user nobody")
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	require.NoError(t, err)
	l := newLaptop(t)
	l.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: false}
	l.reachable("OMOI_DEV_TEMPORAL_BIN")
	require.NoError(t, os.Chown(l.dir, int(uid), int(gid)))
	delete(l.env, "OMOI_SANDBOX_DIR") // below home, as where nothing is configured

	l.dev()
	repo := l.repo()
	made := l.submit(repo, script(stepWrite, stepCommit, `{"bash":{"command":"id -u"}}`, `{"complete":{"output":"{{last_output}}","success":true}}`))
	l.running(made.ID)
	for _, pid := range processesWith(l.dir) {
		info, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
		if err == nil {
			require.Equal(t, uint32(uid), info.Sys().(*syscall.Stat_t).Uid, "process %d", pid)
		}
	}
	got := l.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 1, got.AttemptCount)
	require.Equal(t, "hello\n", l.run("git", "-C", repo, "show", text(got.Branch)+":hello.txt").stdout)
	l.noLeaks()
	require.DirExists(t, filepath.Join(l.home, "sandboxes"), "sandboxes are below home")
	doctor := l.omoi("doctor")
	require.Zero(t, doctor.code, doctor.stdout+doctor.stderr)
	l.signal("dev", syscall.SIGINT)
	require.True(t, waitFor(patience, func() bool { return l.below() == 0 }), "nothing is left")
}

// reachable copies the program that a setting names to where everybody can start it.
func (r *rig) reachable(setting string) {
	r.t.Helper()
	if r.run("test", "-x", r.env[setting]).code == 0 {
		return
	}
	from, err := os.Open(r.env[setting])
	require.NoError(r.t, err)
	defer from.Close()
	path := filepath.Join(r.dir, filepath.Base(r.env[setting]))
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(r.t, err)
	_, err = io.Copy(to, from)
	require.NoError(r.t, err)
	require.NoError(r.t, to.Close())
	r.env[setting] = path
}
