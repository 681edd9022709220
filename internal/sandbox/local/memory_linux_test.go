package local_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
)

const insideSandbox = "OMOI_TEST_INSIDE"

// TestMemoryKillsAreVisibleInside checks that an agent can tell a kill of its program by the memory limit from others.
// The test runs its own binary in the sandbox, as the agent.
func TestMemoryKillsAreVisibleInside(t *testing.T) {
	t.Parallel()
	if os.Getenv(insideSandbox) != "" {
		outOfMemoryInside(t)
		return
	}
	needWrap(t)
	limits := sandbox.Limits{MemoryBytes: 256 << 20}
	p, labels := ensure(t, local.Config{Root: newRoot(t), Isolation: local.IsolationRequire}, sandbox.Spec{Limits: limits})
	if !slices.Contains(p.Isolation(), "cgroup-memory") {
		t.Skipf("SKIPPED: cgroup-memory is not active here (%v)", p.Isolation())
	}
	self, err := os.Open(os.Args[0])
	require.NoError(t, err)
	defer self.Close()
	require.NoError(t, p.WriteFile(t.Context(), labels, "/omoi/inside", 0o755, self))
	res, err := sandbox.Exec(t.Context(), p, labels, sandbox.Command{
		Args: []string{"/omoi/inside", "-test.run=^TestMemoryKillsAreVisibleInside$", "-test.v"}, Env: map[string]string{insideSandbox: "1"},
	})
	require.NoError(t, err)
	require.Zero(t, res.ExitCode, "%s%s", res.Stdout, res.Stderr)
	require.Contains(t, string(res.Stdout), "--- PASS")
	_, code := run(t, p, labels, "sh", "-c", "echo 1 > "+sandbox.MemoryKills)
	require.NotZero(t, code, "nobody inside turns the limit off")
}

func outOfMemoryInside(t *testing.T) {
	t.Helper()
	var r proc.Runner
	shell := func(script string) proc.Result {
		res, err := r.Run(t.Context(), proc.Command{Args: []string{"sh", "-c", script}, Dir: sandbox.Workspace, Capture: 1000})
		require.NoError(t, err)
		return res
	}
	foreign := shell("kill -9 $$")
	require.Equal(t, proc.Killed, foreign.Outcome)
	require.Contains(t, foreign.Note, "not by the memory limit")
	killed := shell("head -c 600000000 /dev/zero | tail -c 600000000 > /dev/null; exit $?")
	require.Equal(t, proc.OutOfMemory, killed.Outcome, "%+v", killed)
}
