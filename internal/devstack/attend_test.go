package devstack_test

import (
	"bufio"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/omoi-dev/omoi/internal/devstack"
)

// Temporal is restarted if its process runs but its store does not answer.
func TestTemporal_RestartedWhenItsStoreDoesNotAnswer(t *testing.T) {
	t.Parallel()
	path, err := devstack.FindTemporal("")
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: no python3 on this machine to lock a SQLite file with")
	}
	// In journal mode delete the lock blocks reads and writes, in mode wal only writes.
	for _, mode := range []string{"delete", "wal"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			requireRestart(t, python, "exec "+path+` "$@" --sqlite-pragma journal_mode=`+mode)
		})
	}
}

func requireRestart(t *testing.T, python, script string) {
	t.Helper()
	cfg, starts := ofTemporal(t, script)
	cfg.Wedged = 3 * time.Second
	said, log := io.Pipe()
	defer said.Close()
	cfg.Log = slog.New(slog.NewTextHandler(log, nil))
	stopped, reason := make(chan struct{}), make(chan string, 1)
	go func() {
		defer func() { _, _ = io.Copy(io.Discard, said) }()
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if strings.Contains(lines.Text(), "component not responding, restarting") {
				close(stopped)
			}
			if strings.Contains(lines.Text(), "component exited, restarting") {
				reason <- lines.Text()
				return
			}
		}
	}()
	stack := start(t, cfg)
	info := stack.Info()
	require.Eventually(t, func() bool { return described(t, info) }, time.Minute, 50*time.Millisecond, "a probe writes")
	require.NoError(t, stack.CheckTemporal(t.Context()))
	require.Equal(t, 1, starts())
	const hold = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)\n" +
		"c.execute('BEGIN EXCLUSIVE')\nprint('held', flush=True)\nsys.stdin.read()"
	lock := exec.CommandContext(t.Context(), python, "-c", hold, filepath.Join(cfg.Home, "temporal.db"))
	in, err := lock.StdinPipe()
	require.NoError(t, err)
	out, err := lock.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, lock.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", line)
	select {
	case <-stopped:
	case <-time.After(time.Minute):
		t.Error("Temporal still runs, and answers nobody")
	}
	require.Error(t, stack.CheckTemporal(t.Context()))
	require.Contains(t, <-reason, `reason="omoi stopped the component: no answer for `)
	require.Eventually(t, func() bool { return starts() > 1 }, time.Minute, 50*time.Millisecond)
	require.NoError(t, in.Close())
	require.NoError(t, lock.Wait())
	require.Eventually(t, func() bool { return stack.CheckTemporal(t.Context()) == nil }, time.Minute, 50*time.Millisecond)
}

// described reports whether the namespace has the description that a health check writes.
func described(t *testing.T, info devstack.Info) bool {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: info.TemporalAddress, Namespace: info.TemporalNamespace})
	require.NoError(t, err)
	defer c.Close()
	found, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: info.TemporalNamespace})
	return err == nil && found.GetNamespaceInfo().GetDescription() == "omoi dev"
}

// A log above its limit is moved aside while the component continues to write.
func TestLog_IsBounded(t *testing.T) {
	t.Parallel()
	path, err := devstack.FindTemporal("")
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	cfg, _ := ofTemporal(t, `yes | head -c 5000 >&2; exec `+path+` "$@"`)
	cfg.LogLimit = 4000
	start(t, cfg)
	log := filepath.Join(cfg.Home, "temporal.log")
	require.Eventually(t, func() bool {
		info, err := os.Stat(log)
		kept, kerr := os.Stat(log + ".old")
		return err == nil && kerr == nil && info.Size() < cfg.LogLimit && kept.Size() >= 5000
	}, time.Minute, 20*time.Millisecond)
}
