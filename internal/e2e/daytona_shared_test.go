package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// Two installations use one account at Daytona. Neither touches what is the other's: not the reaper, not the end of a task, not a
// person who deletes the other's sandboxes while its agents run.
func TestTwoInstallationsOnOneAccountLeaveEachOtherAlone(t *testing.T) {
	t.Parallel()
	cloud, settings := startCloud(t)
	settings["OMOI_REAPER_INTERVAL"], settings["OMOI_REAPER_GRACE_PERIOD"], settings["OMOI_TASK_HEARTBEAT_TIMEOUT"] = "1s", "1s", "60s"
	both := []*rig{newRig(t, settings).up(), newRig(t, settings).up()}
	var ids, boxes []string
	for _, r := range both {
		made := r.submit(r.repo(), script(stepHang), inDaytona)
		ids, boxes = append(ids, made.ID), append(boxes, text(r.running(made.ID).SandboxID))
	}
	for n, r := range both {
		r.reaped(3)
		other, err := both[1-n].api.Installation(context.Background())
		require.NoError(t, err)
		swept := r.omoi("sandbox", "prune", "--installation", other.ID, "--yes")
		require.Contains(t, swept.stdout+swept.stderr, "kept", "its agent runs")
	}
	require.Len(t, cloud.Boxes(), 2)
	for n, r := range both {
		require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes`), "the other's is not in the ledger")
		require.Equal(t, 1, r.running(ids[n]).AttemptCount)
		_, _, err := r.api.Cancel(context.Background(), ids[n], "enough")
		require.NoError(t, err)
		r.ends(ids[n], task.StatusCancelled)
		r.noLeaks()
		left := cloud.Boxes()
		require.Len(t, left, len(both)-1-n)
		for _, box := range left {
			require.Equal(t, task.SandboxName(boxes[n+1]), box.Name)
			require.True(t, box.Running)
		}
	}
}

// reaped waits until the reaper has begun so many rounds more.
func (r *rig) reaped(rounds int) {
	r.t.Helper()
	schedule := r.temporal.ScheduleClient().GetHandle(context.Background(), contract.ScheduleReaper)
	begun := func() int {
		found, err := schedule.Describe(context.Background())
		if err != nil {
			return 0
		}
		return found.Info.NumActions
	}
	var before int
	r.eventually("the reaper goes its rounds", func() bool {
		if before == 0 {
			before = begun()
		}
		return before > 0 && begun() >= before+rounds
	})
}
