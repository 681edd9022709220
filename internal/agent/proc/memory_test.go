//nolint:paralleltest // see proc_test.go
package proc_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/proc"
)

const insideLimit = "OMOI_TEST_MEMORY_LIMIT"

// TestRun_OutOfMemory checks that a kill by the memory limit differs from a kill by another process. The test runs its
// own binary in a memory cgroup, if it may create one.
func TestRun_OutOfMemory(t *testing.T) {
	if os.Getenv(insideLimit) != "" {
		res, err := runner.Run(t.Context(), bash("head -c 300000000 /dev/zero | tail -c 300000000 > /dev/null; exit $?"))
		require.NoError(t, err)
		require.Equal(t, proc.OutOfMemory, res.Outcome, "%+v", res)
		res, err = runner.Run(t.Context(), bash("kill -9 $$"))
		require.NoError(t, err)
		require.Equal(t, proc.Killed, res.Outcome)
		require.Contains(t, res.Note, "not by the memory limit")
		return
	}
	group := filepath.Join("/sys/fs/cgroup/memory", fmt.Sprintf("omoi-test-%d", os.Getpid()))
	limit := filepath.Join(group, "memory.limit_in_bytes")
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		group = filepath.Join("/sys/fs/cgroup", filepath.Base(group))
		limit = filepath.Join(group, "memory.max")
	}
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("no memory group can be made here, so out of memory is not tested: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(group) })
	if err := os.WriteFile(limit, []byte("100000000"), 0o644); err != nil {
		t.Skipf("no memory limit can be set here, so out of memory is not tested: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "echo $$ > "+group+"/cgroup.procs && exec "+os.Args[0]+" -test.run='^TestRun_OutOfMemory$' -test.v")
	cmd.Env = append(os.Environ(), insideLimit+"=1")
	out, err := cmd.CombinedOutput()
	if !strings.Contains(string(out), "=== RUN") {
		t.Skipf("the memory group cannot be entered, so out of memory is not tested: %s", out)
	}
	require.NoError(t, err, string(out))
}
