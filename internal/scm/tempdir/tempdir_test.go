package tempdir_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm/tempdir"
)

// TestMain plays the process that is killed.
func TestMain(m *testing.M) {
	parent := os.Getenv("SCRATCH_PARENT")
	if parent == "" {
		m.Run()
		return
	}
	dir := tempdir.Open(parent)
	path, err := dir.Make("copy-")
	if err == nil {
		err = os.WriteFile(filepath.Join(path, "pack"), []byte("x"), 0o600)
	}
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString(path + "\n")
	defer runtime.KeepAlive(dir)
	<-time.After(24 * time.Hour) // it is killed before; select {} ends a program without cgo
}

// other starts a process that holds a copy, and answers where that is.
func other(t *testing.T, parent string) (copied string, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SCRATCH_PARENT="+parent)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return line[:len(line)-1], func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func TestWhatAKilledProcessLeftIsRemovedAtTheNextStart(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dead, kill := other(t, parent)
	alive, stop := other(t, parent)
	t.Cleanup(stop)
	tempdir.Open(parent)
	require.FileExists(t, filepath.Join(dead, "pack"), "it lives")
	kill()
	require.FileExists(t, filepath.Join(dead, "pack"))
	tempdir.Open(parent)
	require.NoDirExists(t, filepath.Dir(dead))
	require.FileExists(t, filepath.Join(alive, "pack"), "another lives, however old its copy is")
}

func TestAFolderThatIsTakenAwayIsMadeAnew(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := tempdir.Open(parent)
	first, err := dir.Make("copy-")
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Dir(first)))
	second, err := dir.Make("copy-")
	require.NoError(t, err)
	require.DirExists(t, second)
	require.NoError(t, dir.Close())
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Links and files that somebody called like our folders lead nowhere.
func TestOnlyFoldersOfOursAreRemoved(t *testing.T) {
	t.Parallel()
	parent, precious := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(precious, filepath.Join(parent, "omoi-scratch-1")))
	require.NoError(t, os.WriteFile(filepath.Join(parent, "omoi-scratch-2"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(parent, "omoi-github-3"), 0o700))
	tempdir.Open(parent)
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Len(t, left, 3)
	require.DirExists(t, precious)
}

func TestWithoutAFolderOfItsOwn(t *testing.T) {
	t.Parallel()
	var none *tempdir.Dir
	path, err := none.Make("omoi-test-")
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
}
