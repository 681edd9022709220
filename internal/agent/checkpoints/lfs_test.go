package checkpoints_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
)

// TestRestore_FilesOfGitLFS restores files of Git LFS that the agent changed. The contents of the others come from the setup step.
func TestRestore_FilesOfGitLFS(t *testing.T) {
	t.Parallel()
	if err := exec.CommandContext(t.Context(), "git", "lfs", "version").Run(); err != nil {
		t.Skip("SKIPPED: git-lfs is not installed: ", err)
	}
	r := newRig(t, "sha1")
	r.git(r.work, "lfs", "install", "--local")
	r.git(r.work, "lfs", "track", "*.bin")
	r.put(r.work, "kept.bin", "kept\x00content\n")
	r.put(r.work, "edited.bin", "before\x00\n")
	r.git(r.work, "add", ".")
	r.git(r.work, "commit", "-qm", "with large files")
	r.git(r.work, "push", "-q", "origin", "HEAD")
	setup := func(work string) {
		t.Helper()
		r.git(work, "lfs", "install", "--local")
		r.git(work, "lfs", "pull")
		content, err := os.ReadFile(filepath.Join(work, "kept.bin"))
		require.NoError(t, err)
		require.Equal(t, "kept\x00content\n", string(content))
		for _, name := range []string{"kept.bin", "edited.bin"} { // written at another time than the Git index
			require.NoError(t, os.Chtimes(filepath.Join(work, name), time.Now(), time.Now().Add(-time.Hour)))
		}
		r.git(work, "status")
	}
	r.work = r.clone()
	setup(r.work)
	k := r.open()
	r.put(r.work, "edited.bin", "after\x00\n")
	r.put(r.work, "new.bin", "new\x00\n")
	r.keep(k)
	require.Contains(t, r.taken("kept.bin"), "version https://git-lfs.github.com/spec/v1", "its content is in the store of Git LFS")
	require.Equal(t, "after\x00", r.taken("edited.bin"))

	work, dir := r.clone(), t.TempDir()
	from, err := checkpoints.Fetch(t.Context(), r.line, dir, r.server.Segments())
	require.NoError(t, err)
	require.NoError(t, from.Commits(t.Context(), dir, work, branch))
	setup(work)
	require.NoError(t, from.Files(t.Context(), dir, work))
	require.Equal(t, digest(t, r.work), digest(t, work))
	require.Equal(t, r.git(r.work, "status", "--porcelain"), r.git(work, "status", "--porcelain"))
}
