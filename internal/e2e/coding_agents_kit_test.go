package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/proctable"
	"github.com/omoi-dev/omoi/internal/testkit/codingagents"
	openhandstest "github.com/omoi-dev/omoi/internal/testkit/openhands"
)

// programOf returns the program of the agent whose tool runs as a process.
func programOf(t *testing.T, pid int) int {
	t.Helper()
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if _, rest, ok := strings.Cut("\x00"+string(environ), "\x00OMOI_OPENHANDS_SERVER="); ok { // its terminals are no children of it
		dir, _, _ := strings.Cut(rest, "\x00")
		return serverIn(t, dir)
	}
	for ; ; pid = parentOf(pid) {
		require.Greater(t, pid, 1, "no omoi-agent is above the tool")
		if path.Base(argvOf(parentOf(pid))[0]) == "omoi-agent" {
			return pid
		}
	}
}

// serverIn returns the OpenHands server that works in a folder.
func serverIn(t *testing.T, dir string) int {
	t.Helper()
	for _, p := range proctable.All() {
		at, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.PID))
		if at == dir && slices.ContainsFunc(argvOf(p.PID), func(arg string) bool { return path.Base(arg) == "agent-server" }) {
			return p.PID
		}
	}
	require.Fail(t, "no OpenHands server works in "+dir)
	return 0
}

// isGone reports that a process has ended: the command line of one that nobody has waited for is empty.
func isGone(pid int) bool { return argvOf(pid)[0] == "" }

// programs returns the folder of the program, which sandboxes can read. The variable of the program's path names one that is there
// already. A root user's sandboxes cannot read what pip makes of that user's Python.
func programs(t *testing.T, a *realAgent) string {
	t.Helper()
	d := a.dialect
	if program := os.Getenv(d.Bin()); program != "" {
		return filepath.Dir(program)
	}
	if d.Command == nil {
		program := codingagents.Program{Agent: d.Name, Name: d.Program, Install: d.Install, Pinned: d.Least, Version: d.Version}.Find(t)
		return reachable(t, codingagents.Modules(program))
	}
	if os.Geteuid() == 0 {
		t.Skipf("SKIPPED: root's sandboxes run as other users, and %s names no %s that they can read. Next: %s", d.Bin(), d.Program, d.Install)
	}
	program, err := openhandstest.Install(t.Context())
	if err != nil {
		t.Skipf("SKIPPED: %s %s cannot be installed, so nothing was tested with it: %v", d.Title, d.Least, err)
	}
	return filepath.Dir(program)
}

// reachable returns a folder with the same files that sandboxes can read: the user's cache is closed to them.
func reachable(t *testing.T, modules string) string {
	t.Helper()
	dropOld(t, "/var/tmp/omoi-agents-*")
	dir, err := os.MkdirTemp("/var/tmp", "omoi-agents-") //nolint:usetesting // most often the device of the cache, so that links are enough
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	to := filepath.Join(dir, "node_modules")
	if exec.CommandContext(t.Context(), "cp", "-alT", modules, to).Run() != nil {
		require.NoError(t, os.RemoveAll(to))
		out, err := exec.CommandContext(t.Context(), "cp", "-aT", modules, to).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	return filepath.Join(to, ".bin")
}

// dropOld removes folders that killed tests left behind more than a day ago.
func dropOld(t *testing.T, pattern string) {
	t.Helper()
	left, err := filepath.Glob(pattern)
	require.NoError(t, err)
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			require.NoError(t, os.RemoveAll(dir))
		}
	}
}
