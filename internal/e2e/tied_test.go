package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// tied starts a command that dies with these tests, whatever ends them: a timeout runs no cleanup. The kernel's signal follows
// the thread that started it, so that one is kept. done is closed when the command has ended.
func tied(cmd *exec.Cmd) (done chan struct{}, err error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	begun, done := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(done)
		err := cmd.Start()
		begun <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	return done, <-begun
}

// holdEnv tells this program that it is to start a program and to wait for it; it names the file that the program reads.
const holdEnv = "OMOI_TEST_HOLD"

func hold() int {
	done, err := tied(exec.CommandContext(context.Background(), "tail", "-f", os.Getenv(holdEnv)))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	<-done
	return 0
}

// TestNoProgramOutlivesItsTests kills a process of tests, which cleans nothing up then.
func TestNoProgramOutlivesItsTests(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "read")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	tests := exec.CommandContext(t.Context(), os.Args[0])
	tests.Env = append(os.Environ(), holdEnv+"="+file)
	require.NoError(t, tests.Start())
	started := waitFor(patience, func() bool { return len(processesWith(file)) == 1 })
	require.NoError(t, tests.Process.Kill())
	_ = tests.Wait()
	require.True(t, started)
	require.True(t, waitFor(patience, func() bool { return len(processesWith(file)) == 0 }))
}
