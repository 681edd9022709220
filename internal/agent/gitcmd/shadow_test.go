package gitcmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

// workTree returns a repository with one commit of the files.
func workTree(t *testing.T, files map[string]string) string {
	t.Helper()
	work := t.TempDir()
	for name, content := range files {
		write(t, work, name, content)
	}
	git(t, work, "init", "-q", "-b", "main")
	git(t, work, "add", "-A")
	git(t, work, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
	return work
}

func write(t *testing.T, work, name, content string) {
	t.Helper()
	path := filepath.Join(work, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

func git(t *testing.T, work string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = work, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

func openShadow(t *testing.T, dir, work string) *gitcmd.Shadow {
	t.Helper()
	s, err := gitcmd.Opening{Dir: dir, Work: work}.Open(t.Context())
	require.NoError(t, err)
	return s
}

// unknown lists the files without a time and size in the index: git reads their content each time.
func unknown(t *testing.T, s *gitcmd.Shadow) string {
	t.Helper()
	names, err := s.Run(t.Context(), "diff-files", "--name-only")
	require.NoError(t, err)
	return names
}

func TestBegin_NotesFileTimesOnce(t *testing.T) {
	t.Parallel()
	work := workTree(t, map[string]string{"a": "a\n", "dir/b": "b\n", "edited": "old\n", "deleted": "d\n"})
	write(t, work, "edited", "new\n")
	require.NoError(t, os.Remove(filepath.Join(work, "deleted")))
	dir := filepath.Join(t.TempDir(), "shadow.git")
	s := openShadow(t, dir, work)
	require.NoError(t, s.Begin(t.Context(), headTree(t, work)))
	require.Equal(t, "deleted\nedited", unknown(t, s), "after a setup step only changed files are read again")
	snap, err := s.Take(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, snap.Changed)
	require.Empty(t, unknown(t, s))

	touched := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(work, "a"), touched, touched))
	s = openShadow(t, dir, work)
	require.NoError(t, s.Begin(t.Context(), headTree(t, work)))
	require.Equal(t, "deleted\nedited", unknown(t, s), "an index that is older than a setup step is refreshed too")
	again, err := s.Take(t.Context())
	require.NoError(t, err)
	require.Equal(t, snap.Tree, again.Tree)
}

func headTree(t *testing.T, work string) string {
	t.Helper()
	tree, err := gitcmd.Repository(work).Run(t.Context(), "rev-parse", "HEAD^{tree}")
	require.NoError(t, err)
	return tree
}

func TestTake_FileAndFolderTradePlaces(t *testing.T) {
	t.Parallel()
	work := workTree(t, map[string]string{"file": "1\n", "folder/a": "2\n", "other/b": "3\n", "ignored/a": "4\n", ".gitignore": "/ignored\n"})
	git(t, work, "add", "-f", "ignored")
	git(t, work, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "second")
	s := openShadow(t, filepath.Join(t.TempDir(), "shadow.git"), work)
	require.NoError(t, s.Begin(t.Context(), headTree(t, work)))
	for _, name := range []string{"file", "folder", "ignored"} {
		require.NoError(t, os.RemoveAll(filepath.Join(work, name)))
	}
	write(t, work, "file/below", "5\n")
	for _, name := range []string{"folder", "ignored"} {
		require.NoError(t, os.Symlink("other", filepath.Join(work, name)))
	}
	snap, err := s.Take(t.Context())
	require.NoError(t, err)
	names, err := s.Run(t.Context(), "ls-tree", "-r", "--name-only", snap.Tree)
	require.NoError(t, err)
	require.Equal(t, ".gitignore\nfile/below\nfolder\nother/b", names)

	require.NoError(t, os.RemoveAll(filepath.Join(work, "file")))
	require.NoError(t, os.Mkdir(filepath.Join(work, "file"), 0o755))
	require.NoError(t, os.Remove(filepath.Join(work, "folder")))
	write(t, work, "folder/a", "6\n")
	snap, err = s.Take(t.Context())
	require.NoError(t, err)
	names, err = s.Run(t.Context(), "ls-tree", "-r", "--name-only", snap.Tree)
	require.NoError(t, err)
	require.Equal(t, ".gitignore\nfolder/a\nother/b", names)
}

func TestOfWorkspace_FolderInPlaceOfFile(t *testing.T) {
	t.Parallel()
	work := workTree(t, map[string]string{"a": "1\n", "b": "2\n"})
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.Remove(filepath.Join(work, name)))
		require.NoError(t, os.Mkdir(filepath.Join(work, name), 0o755))
	}
	write(t, work, "a/below", "3\n")
	s := gitcmd.OfWorkspace(work, filepath.Join(work, ".git", "index"), filepath.Join(t.TempDir(), "index"))
	snap, err := s.Take(t.Context())
	require.NoError(t, err)
	require.Empty(t, snap.Skipped)
	names, err := s.Run(t.Context(), "ls-tree", "-r", "--name-only", snap.Tree)
	require.NoError(t, err)
	require.Equal(t, "a/below", names)
}
