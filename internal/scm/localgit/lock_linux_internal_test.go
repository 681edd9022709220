package localgit

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A lock that cannot be handed to the owner of the repository is closed.
func TestOpenLock_ClosesWhatItCannotGive(t *testing.T) {
	t.Parallel()
	r := &repository{dir: t.TempDir(), owner: &syscall.Credential{}}
	for _, dir := range []string{filepath.Dir(r.dir), r.dir, filepath.Join(r.dir, recordsFolder)} {
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.Chmod(dir, 0o777)) // another user writes to it
	}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread()                                          // never unlocked: the thread ends with this goroutine
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0) // root's files are not its to give any more; for others nothing changes
		_, err := r.openLock()
		failed <- err
	}()
	require.ErrorIs(t, <-failed, syscall.EPERM)
	require.FileExists(t, filepath.Join(r.dir, lockFile))
	open, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, fd := range open {
		to, _ := os.Readlink(fd) // of one that was closed meanwhile: empty
		require.NotEqual(t, filepath.Join(r.dir, lockFile), to)
	}
}
