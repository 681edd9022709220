package proc_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/proc"
)

// TestStartTied_OutlivesTheCallingThread checks that a command dies with this process, and not with the thread that
// called StartTied.
func TestStartTied_OutlivesTheCallingThread(t *testing.T) { //nolint:paralleltest // the runner of another test would reap its child
	cmd, over := exec.Command("sleep", "1000"), make(chan struct{})
	defer close(over)
	started, thread := make(chan error), make(chan int, 1)
	go onDyingThread(func() {
		thread <- syscall.Gettid()
		started <- proc.StartTied(cmd, over)
	})
	require.NoError(t, <-started)
	task := fmt.Sprintf("/proc/self/task/%d", <-thread)
	require.Eventually(t, func() bool {
		_, err := os.Stat(task)
		return os.IsNotExist(err)
	}, time.Minute, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.Equal(t, syscall.SIGTERM, status.Signal())
}

// onDyingThread calls f on a thread that ends afterwards. The thread is never the main thread, which does not end.
func onDyingThread(f func()) {
	runtime.LockOSThread() // never unlocked, so that the thread ends with this goroutine
	if syscall.Gettid() != syscall.Getpid() {
		f()
		return
	}
	defer runtime.UnlockOSThread()
	done := make(chan struct{})
	go func() {
		defer close(done)
		onDyingThread(f)
	}()
	<-done
}
