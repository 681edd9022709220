package temporal_test

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/temporal"
)

// A server whose store is locked serves nothing, though its gRPC health says that it does.
func TestCheck_FailsWhenTheStoreDoesNotAnswer(t *testing.T) {
	t.Parallel()
	path, err := devstack.FindTemporal("")
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: no python3 on this machine to lock a SQLite file with")
	}
	file := filepath.Join(t.TempDir(), "temporal.db")
	dev, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{ExistingPath: path, DBFilename: file, LogLevel: "never"})
	require.NoError(t, err)
	defer func() { require.NoError(t, dev.Stop()) }()
	c := redial(t, temporal.Config{HostPort: dev.FrontendHostPort(), CallTimeout: 5 * time.Second})
	require.NoError(t, c.Check(t.Context()))

	const hold = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)\n" +
		"c.execute('BEGIN EXCLUSIVE')\nprint('held', flush=True)\nsys.stdin.read()"
	lock := exec.CommandContext(t.Context(), python, "-c", hold, file)
	in, err := lock.StdinPipe()
	require.NoError(t, err)
	out, err := lock.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, lock.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	requireCode(t, task.CodeUnavailable, c.Check(t.Context()))
	require.NoError(t, in.Close())
	require.NoError(t, lock.Wait())
	require.Eventually(t, func() bool { return c.Check(t.Context()) == nil }, time.Minute, 20*time.Millisecond)
}
