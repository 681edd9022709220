package proc

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A command dies with this process, not with the thread on which somebody asked for it.
func TestACommandOutlivesTheThreadThatAskedForIt(t *testing.T) {
	t.Parallel()
	cmd, over := exec.Command("sleep", "1000"), make(chan struct{}) //nolint:noctx // it is ended below
	defer close(over)
	started, thread := make(chan error), 0
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		thread = syscall.Gettid()
		started <- startTied(cmd, over)
	}()
	require.NoError(t, <-started)
	require.Eventually(t, func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread))
		return os.IsNotExist(err)
	}, time.Minute, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.Equal(t, syscall.SIGTERM, status.Signal())
}
