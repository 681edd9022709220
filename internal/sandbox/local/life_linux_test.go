package local_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
)

// leakDescriptor opens a file that child processes inherit.
func leakDescriptor(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "planted")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	fd, err := syscall.Open(path, syscall.O_RDONLY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
}

func inspect(t *testing.T, p *local.Provider, labels sandbox.Labels) sandbox.Inspection {
	t.Helper()
	seen, err := p.Inspect(t.Context(), labels)
	require.NoError(t, err)
	return seen
}

func ended(t *testing.T, p *local.Provider, labels sandbox.Labels) sandbox.Inspection {
	t.Helper()
	require.Eventually(t, func() bool { return inspect(t, p, labels).Agent == sandbox.StateGone }, 30*time.Second, 5*time.Millisecond)
	return inspect(t, p, labels)
}

func start(t *testing.T, p *local.Provider, labels sandbox.Labels, args ...string) {
	t.Helper()
	require.NoError(t, p.Start(t.Context(), labels, sandbox.Command{Args: args}))
}

func TestLifetimeEndsTheCommand(t *testing.T) {
	t.Parallel()
	p, labels := ensure(t, local.Config{Root: newRoot(t)}, sandbox.Spec{Lifetime: 100 * time.Millisecond})
	start(t, p, labels, "sleep", "600")
	seen := ended(t, p, labels)
	require.Equal(t, "the lifetime of the sandbox ended", seen.Reason)
	require.Equal(t, -1, seen.ExitCode)
}

// TestInspect_ShimKilled checks the reason after the death of a shim, and after a restart of the machine.
func TestInspect_ShimKilled(t *testing.T) {
	t.Parallel()
	cfg := local.Config{Root: newRoot(t)}
	p, labels := ensure(t, cfg, sandbox.Spec{})
	start(t, p, labels, "sleep", "600")
	(&bed{cfg: cfg}).kill(t, labels)
	require.Equal(t, "the shim of the command was killed", ended(t, p, labels).Reason)

	editState(t, cfg, labels, func(state map[string]any) { state["boot_id"] = "another boot" })
	require.Equal(t, "the machine was restarted", inspect(t, p, labels).Reason)
}

// TestEnsure_Interrupted leaves what a worker that died in Ensure leaves.
func TestEnsure_Interrupted(t *testing.T) {
	t.Parallel()
	cfg := local.Config{Root: newRoot(t)}
	p, labels := ensure(t, cfg, sandbox.Spec{})
	folder := filepath.Join(cfg.Root, task.SandboxName(labels.SandboxID))
	require.NoError(t, os.Remove(filepath.Join(folder, "labels.json")))
	require.Equal(t, sandbox.StateAlive, inspect(t, p, labels).State, "something is there to delete")
	box, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	require.NoError(t, err)
	require.False(t, box.Adopted)
	_, code := run(t, p, labels, "true")
	require.Zero(t, code)

	require.NoError(t, os.Remove(filepath.Join(folder, "labels.json")))
	require.NoError(t, p.Delete(t.Context(), labels))
	require.Equal(t, sandbox.StateGone, inspect(t, p, labels).State)
	require.NoDirExists(t, folder)
}

// TestDelete_WithoutTrash checks that Delete fails while the trash folder is missing, and that the sandbox stays.
func TestDelete_WithoutTrash(t *testing.T) {
	t.Parallel()
	cfg := local.Config{Root: newRoot(t)}
	p, labels := ensure(t, cfg, sandbox.Spec{})
	trash := filepath.Join(cfg.Root, ".trash")
	require.NoError(t, os.RemoveAll(trash))
	require.Equal(t, task.CodeUnavailable, task.CodeOf(p.Delete(t.Context(), labels)))
	require.DirExists(t, filepath.Join(cfg.Root, task.SandboxName(labels.SandboxID)))

	require.NoError(t, os.Mkdir(trash, 0o700))
	require.NoError(t, p.Delete(t.Context(), labels))
	require.Equal(t, sandbox.StateGone, inspect(t, p, labels).State)
}

// TestDelete_Interrupted leaves what a worker that died in Delete after the move to the trash leaves.
func TestDelete_Interrupted(t *testing.T) {
	t.Parallel()
	cfg := local.Config{Root: newRoot(t)}
	p, labels := ensure(t, cfg, sandbox.Spec{})
	name := task.SandboxName(labels.SandboxID)
	trash := filepath.Join(cfg.Root, ".trash", name)
	require.NoError(t, os.Rename(filepath.Join(cfg.Root, name), trash))
	require.Equal(t, sandbox.StateAlive, inspect(t, p, labels).State)
	listed, err := p.List(t.Context(), labels.Installation)
	require.NoError(t, err)
	require.Len(t, listed, 1, "the reaper must find it")
	require.NoError(t, p.Delete(t.Context(), labels))
	require.Equal(t, sandbox.StateGone, inspect(t, p, labels).State)
	require.NoDirExists(t, trash)
}

// TestPaths_OtherIsolation creates a sandbox with one isolation and reads its paths with another.
func TestPaths_OtherIsolation(t *testing.T) {
	t.Parallel()
	needWrap(t)
	root := newRoot(t)
	wrapped, labels := ensure(t, local.Config{Root: root, Isolation: local.IsolationRequire}, sandbox.Spec{})
	plain := open(t, local.Config{Root: root, Isolation: local.IsolationNone})
	require.Equal(t, sandbox.DefaultPaths(), wrapped.Paths(labels))
	require.Equal(t, sandbox.DefaultPaths(), plain.Paths(labels))
	require.NotEqual(t, sandbox.DefaultPaths(), plain.Paths(newLabels()))
	_, err := sandbox.Exec(t.Context(), plain, labels, sandbox.Command{Args: []string{"true"}})
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err), "never with less isolation than it was made with")
}

func TestPrune_OldTombstones(t *testing.T) {
	t.Parallel()
	cfg := local.Config{Root: newRoot(t)}
	p, old := ensure(t, cfg, sandbox.Spec{})
	require.NoError(t, p.Delete(t.Context(), old))
	young := newLabels()
	require.NoError(t, p.Delete(t.Context(), young))
	fence := func(l sandbox.Labels) string {
		return filepath.Join(cfg.Root, ".fences", task.SandboxName(l.SandboxID))
	}
	long := time.Now().Add(-40 * 24 * time.Hour)
	require.NoError(t, os.Chtimes(fence(old), long, long))
	open(t, cfg)
	require.NoFileExists(t, fence(old))
	require.FileExists(t, fence(young))
}

// TestPrune_ByAMovedClock checks that Prune removes old tombstones while the provider runs, a limited number in each
// call.
func TestPrune_ByAMovedClock(t *testing.T) {
	t.Parallel()
	const most, day = 10_000, 24 * time.Hour
	cfg := local.Config{Root: newRoot(t)}
	p := open(t, cfg)
	fences := filepath.Join(cfg.Root, ".fences")
	for n := range most + 1 {
		require.NoError(t, os.WriteFile(filepath.Join(fences, "omoi-"+strconv.Itoa(n)), []byte(`{"deleted":"2026-01-01T00:00:00Z"}`), 0o600))
	}
	left := func() int {
		entries, err := os.ReadDir(fences)
		require.NoError(t, err)
		return len(entries)
	}
	for _, at := range []struct{ days, left int }{{29, most + 1}, {31, 1}, {31, 0}} {
		require.NoError(t, p.Prune(time.Now().Add(time.Duration(at.days)*day)))
		require.Equal(t, at.left, left())
	}
}

// TestDelete_LeavesNoFiles checks the disk, not the provider's answers.
func TestDelete_LeavesNoFiles(t *testing.T) {
	t.Parallel()
	cfg := local.Config{Root: newRoot(t)}
	p, labels := ensure(t, cfg, sandbox.Spec{})
	start(t, p, labels, "sleep", "600")
	require.NoError(t, p.Delete(t.Context(), labels))
	left, err := filepath.Glob(filepath.Join(cfg.Root, "omoi-*"))
	require.NoError(t, err)
	require.Empty(t, left)
	left, err = filepath.Glob(filepath.Join(cfg.Root, ".trash", "*"))
	require.NoError(t, err)
	require.Empty(t, left)
	name := task.SandboxName(labels.SandboxID)
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, _ fs.DirEntry, _ error) error {
		require.NotEqual(t, name, filepath.Base(path))
		return nil
	})
}

// TestExec_WorkerKilled kills the worker during a command, in both modes.
func TestExec_WorkerKilled(t *testing.T) {
	t.Parallel()
	for i, isolation := range []local.Isolation{local.IsolationAuto, local.IsolationNone} {
		cfg := local.Config{Root: newRoot(t), Isolation: isolation}
		_, labels := ensure(t, cfg, sandbox.Spec{})
		tag := "98765." + strconv.Itoa(os.Getpid()) + strconv.Itoa(i)
		runs := func() bool {
			return slices.ContainsFunc(commandLines(t), func(line string) bool { return strings.HasPrefix(line, "sleep "+tag) })
		}
		worker, _ := (&bed{cfg: cfg}).worker(t, order{
			Labels: labels, Exec: true,
			Args: []string{"sh", "-c", "setsid sleep " + tag + "1 & env -i setsid sleep " + tag + "2 & sleep " + tag + "3"},
		})
		require.Eventually(t, runs, 30*time.Second, 5*time.Millisecond)
		require.NoError(t, worker.Process.Kill())
		require.Error(t, worker.Wait())
		require.Eventually(t, func() bool { return !runs() }, 30*time.Second, 5*time.Millisecond)
	}
}

// TestDelete_ReusedNamespaceNumber deletes a sandbox after the kernel has reused the number of its PID namespace for
// another one.
func TestDelete_ReusedNamespaceNumber(t *testing.T) {
	t.Parallel()
	needWrap(t)
	cfg := local.Config{Root: newRoot(t)}
	p, first := ensure(t, cfg, sandbox.Spec{})
	start(t, p, first, "true")
	ended(t, p, first)
	_, second := ensure(t, cfg, sandbox.Spec{})
	start(t, p, second, "sleep", "600")
	number := editState(t, cfg, second, func(map[string]any) {})["pid_ns"]
	editState(t, cfg, first, func(state map[string]any) { state["pid_ns"] = number })

	require.NoError(t, p.Stop(t.Context(), first, 0))
	require.Equal(t, sandbox.StateAlive, inspect(t, p, second).Agent)
	require.NoError(t, p.Delete(t.Context(), first))
	require.Equal(t, sandbox.StateAlive, inspect(t, p, second).Agent)
}

// editState changes state.json and returns its content.
func editState(t *testing.T, cfg local.Config, labels sandbox.Labels, edit func(map[string]any)) map[string]any {
	t.Helper()
	path := filepath.Join(cfg.Root, task.SandboxName(labels.SandboxID), "state.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var state map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&state))
	edit(state)
	text, err = json.Marshal(state)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return state
}

func TestSurvey_UnreadableLabels(t *testing.T) {
	t.Parallel()
	cfg := local.Config{Root: newRoot(t)}
	_, broken := ensure(t, cfg, sandbox.Spec{})
	p, whole := ensure(t, cfg, sandbox.Spec{})
	path := filepath.Join(cfg.Root, task.SandboxName(broken.SandboxID), "labels.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	listed, err := p.List(t.Context(), whole.Installation)
	require.NoError(t, err)
	require.Len(t, listed, 1)
	require.Equal(t, whole, listed[0].Labels)
	require.NoError(t, os.WriteFile(path, text, 0o600))
}
