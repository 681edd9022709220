//nolint:paralleltest // KillAll would kill children of other tests
package proc_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/proc"
)

// runner is shared by the tests. The test program adopts orphans, as omoi-agent does.
var runner = &proc.Runner{}

func TestMain(m *testing.M) {
	if err := proc.Adopt(); err != nil {
		panic(err)
	}
	m.Run()
}

func bash(text string) proc.Command {
	return proc.Command{Args: []string{"/bin/sh", "-c", text}, Env: os.Environ(), Grace: 50 * time.Millisecond}
}

func alive(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	rest := b[bytes.LastIndexByte(b, ')')+2:]
	return rest[0] != 'Z' && rest[0] != 'X'
}

func pids(t *testing.T, dir string) []int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.pid"))
	require.NoError(t, err)
	var list []int
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		require.NoError(t, err)
		list = append(list, pid)
	}
	return list
}

func TestRun_Outcomes(t *testing.T) {
	cases := map[string]struct {
		command string
		outcome proc.Outcome
		code    int
		signal  string
	}{
		"success":      {"exit 0", proc.Exited, 0, ""},
		"failure":      {"exit 3", proc.Exited, 3, ""},
		"foreign kill": {"kill -9 $$", proc.Killed, 137, "SIGKILL"},
		"child killed": {"sh -c 'kill -9 $$'; exit $?", proc.Killed, 137, ""},
		"terminated":   {"kill -TERM $$", proc.Exited, 143, "SIGTERM"},
		"file limit":   {"ulimit -f 1; exec dd if=/dev/zero of=/tmp/omoi-limit-$$ bs=1024 count=64 2>/dev/null", proc.Limit, 128 + int(syscall.SIGXFSZ), "SIGXFSZ"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			command := bash(c.command)
			command.Dir = t.TempDir()
			command.Args[2] = strings.ReplaceAll(c.command, "/tmp/omoi-limit-$$", filepath.Join(command.Dir, "big"))
			res, err := runner.Run(t.Context(), command)
			require.NoError(t, err)
			require.Equal(t, c.outcome, res.Outcome)
			require.Equal(t, c.code, res.ExitCode)
			require.Equal(t, c.signal, res.Signal)
		})
	}
}

// TestRun_TimeoutKillsAllProcesses starts a process that ignores signals, one in its own session, and one without its
// parent.
func TestRun_TimeoutKillsAllProcesses(t *testing.T) {
	dir := t.TempDir()
	command := bash(`
cd ` + dir + `
trap '' TERM
echo $$ > 0.pid
sh -c 'trap "" TERM HUP INT; echo $$ > 1.pid; sleep 1000' &
setsid sh -c 'echo $$ > 2.pid; sleep 1000' &
( setsid sh -c 'trap "" TERM; echo $$ > 3.pid; while :; do sleep 1; done' & ) &
while [ ! -s 1.pid ] || [ ! -s 2.pid ] || [ ! -s 3.pid ]; do sleep 0.01; done
touch ready
while :; do sleep 1; done`)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
				cancel(nil)
			}
			<-time.After(5 * time.Millisecond)
		}
	}()
	res, err := runner.Run(ctx, command)
	require.NoError(t, err)
	require.Equal(t, proc.Stopped, res.Outcome)
	require.Zero(t, res.Survivors)
	require.GreaterOrEqual(t, res.Killed, 4)
	list := pids(t, dir)
	require.Len(t, list, 4)
	for _, pid := range list {
		require.False(t, alive(pid), "process %d lives", pid)
	}
}

func TestRun_CPUTimeLimit(t *testing.T) {
	command := bash("echo partial; while :; do sleep 1; done")
	command.Timeout = 100 * time.Millisecond
	res, err := runner.Run(t.Context(), command)
	require.NoError(t, err)
	require.Equal(t, proc.Timeout, res.Outcome)
	require.Equal(t, "partial\n", res.Output)
}

func TestKillAll_BackgroundProcess(t *testing.T) {
	dir := t.TempDir()
	res, err := runner.Run(t.Context(), bash("cd "+dir+"; (echo $$ > x; exec sh -c 'echo $$ > bg.pid; sleep 1000') & while [ ! -s bg.pid ]; do sleep 0.01; done; echo started"))
	require.NoError(t, err)
	require.Equal(t, "started\n", res.Output)
	pid := pids(t, dir)[0]
	require.True(t, alive(pid))
	killed, left := runner.KillAll()
	require.Positive(t, killed)
	require.Zero(t, left)
	require.False(t, alive(pid))
}

func TestKillAll_EndedProcess(t *testing.T) {
	dir := t.TempDir()
	_, err := runner.Run(t.Context(), bash("cd "+dir+"; mkfifo go; sh -c 'echo $$ > bg.pid; read x < go' & while [ ! -s bg.pid ]; do sleep 0.01; done"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte("\n"), 0o600))
	require.Eventually(t, func() bool { return !alive(pids(t, dir)[0]) }, time.Minute, time.Millisecond)
	killed, left := runner.KillAll()
	require.Zero(t, killed)
	require.Zero(t, left)
}

func TestRun_LongOutput(t *testing.T) {
	command := bash("echo begin; head -c 100000 /dev/zero | tr '\\0' x; echo; echo end")
	command.Capture = 1000
	res, err := runner.Run(t.Context(), command)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(res.Output, "begin\n"))
	require.True(t, strings.HasSuffix(res.Output, "end\n"))
	require.Contains(t, res.Output, "bytes left out")
	require.EqualValues(t, 100011, res.FullLength)
	require.Less(t, len(res.Output), 1200)
}

func TestRun_Stdout(t *testing.T) {
	in, out, err := os.Pipe()
	require.NoError(t, err)
	command := bash("echo lines; echo trouble >&2")
	command.Stdout = out
	res, err := runner.Run(t.Context(), command)
	require.NoError(t, err)
	require.NoError(t, out.Close())
	lines, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Equal(t, "lines\n", string(lines))
	require.Equal(t, "trouble\n", res.Output)
}

func TestRun_CannotStart(t *testing.T) {
	_, err := runner.Run(t.Context(), proc.Command{Args: []string{"/nonexistent"}})
	require.Error(t, err)
	_, err = runner.Run(t.Context(), proc.Command{})
	require.Error(t, err)
}

// TestRun_HidesBeforeCutting checks that secrets are removed before the output is cut.
func TestRun_HidesBeforeCutting(t *testing.T) {
	r := &proc.Runner{Hide: func(text string) string { return strings.ReplaceAll(text, "secret", "hidden") }}
	for capture, want := range map[int]string{1000: "hidden-...-hidden\n", 16: "hidden-.\n... 2 bytes left out ...\n-hidden\n"} {
		res, err := r.Run(t.Context(), proc.Command{Args: []string{"echo", "secret-...-secret"}, Capture: capture, Dir: t.TempDir()})
		require.NoError(t, err)
		require.Equal(t, want, res.Output)
	}
}
