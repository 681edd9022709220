package app

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJudgeWatches(t *testing.T) {
	t.Parallel()
	found := judgeWatches(524_288, 128, 8)
	require.Equal(t, FindingOK, found.Status)
	require.Contains(t, found.Detail, "fs.inotify.max_user_watches 524288, max_user_instances 128")
	found = judgeWatches(8192, 128, 8)
	require.Equal(t, FindingWarn, found.Status)
	require.Contains(t, found.Detail, "too few for 8 sandboxes")
	require.Contains(t, found.Detail, "reads all files")
	require.Equal(t, "sysctl -w fs.inotify.max_user_watches=32000 fs.inotify.max_user_instances=128", found.Next)
	require.Contains(t, judgeWatches(1<<20, 10, 8).Next, "max_user_instances=16")
}

func TestCheckWatches_ReadsThisHost(t *testing.T) {
	t.Parallel()
	found := checkWatches(fresh(t))
	require.Equal(t, "inotify", found.Check)
	require.NotEqual(t, FindingFail, found.Status)
}
