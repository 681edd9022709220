package checkpoints

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A second change in the tick of the first one may leave all that the stamp is made of.
func TestRefsStamp_ToldOnlyAfterATick(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	head := filepath.Join(work, ".git/HEAD")
	require.NoError(t, os.MkdirAll(filepath.Join(work, ".git/refs/heads"), 0o755))
	require.NoError(t, os.WriteFile(head, nil, 0o600))
	told := func() bool { return refsStamp(work) != "" }
	require.Eventually(t, told, 10*time.Second, tick)
	for range 100 { // the machine may be slow, but not each time
		require.NoError(t, os.WriteFile(head, []byte("ref: refs/heads/a\n"), 0o600))
		if !told() {
			return
		}
	}
	t.Fatal("the stamp still counts within a tick")
}

// Files behind links change without a trace in the repository.
func TestRefsStamp_LinksTellNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"HEAD", "packed-refs", "refs/heads/b", "refs"} {
		work, elsewhere := t.TempDir(), t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(work, ".git/refs/heads"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(work, ".git/HEAD"), nil, 0o600))
		require.Eventually(t, func() bool { return refsStamp(work) != "" }, 10*time.Second, tick)
		link := filepath.Join(work, ".git", name)
		require.NoError(t, os.RemoveAll(link))
		require.NoError(t, os.Symlink(elsewhere, link))
		require.Never(t, func() bool { return refsStamp(work) != "" }, 4*tick, tick, name)
	}
}
