package checkpoints_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The event of a checkpoint counts the changes that inotify did not report, here one through a link in another folder.
func TestKeeper_CountsWhatOnlyAScanFound(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	outside := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Link(filepath.Join(r.work, "changed.txt"), outside))
	k := r.open()
	t.Cleanup(k.Close)
	r.put(r.work, "new.txt", "reported")
	r.keep(k)
	require.EqualValues(t, 0, r.agent.events[0]["found_by_scan"])
	require.NoError(t, os.WriteFile(outside, []byte("changed unseen\n"), 0o600))
	require.NoError(t, k.Finish(t.Context()))
	require.EqualValues(t, 1, r.agent.events[1]["found_by_scan"])
	r.put(r.work, "new.txt", "reported again")
	require.NoError(t, k.Finish(t.Context()))
	require.EqualValues(t, 0, r.agent.events[2]["found_by_scan"], "each is counted once")
}
