package e2e_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// TestDiskLimitEndsTheAttempt has an agent hold more than its sandbox's disk: the attempt ends
// for want of resources, with what it had written saved, and the next one begins.
func TestDiskLimitEndsTheAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"SANDBOX_DISK_GB": "0.125"}).up()
	repo := r.repo()
	greedy, err := json.Marshal(`i=0; while :; do i=$((i+1)); head -c 4000000 /dev/zero > "$HOME/$i"; sleep 0.02; done`)
	require.NoError(t, err)
	made := r.submit(repo, script(stepWrite, `{"bash":{"command":`+string(greedy)+`}}`, stepHang))
	got := r.until(made.ID, "has a second attempt", func(t task.Task) bool { return t.AttemptCount == 2 })
	require.Equal(t, task.ClassResources, got.Attempts[0].FailureClass)
	require.Contains(t, got.Attempts[0].Reason, "filled the sandbox's disk")
	_, _, err = r.api.Cancel(context.Background(), made.ID, "seen")
	require.NoError(t, err)
	r.ends(made.ID, task.StatusCancelled)
	r.noLeaks()
	saved := r.task(made.ID).Attempts[0].Salvage
	require.Equal(t, task.SalvageRef, saved.Kind)
	require.Equal(t, "hello\n", r.run("git", "-C", repo, "show", saved.Ref+":hello.txt").stdout)
}
