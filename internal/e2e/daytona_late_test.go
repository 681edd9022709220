package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// An agent whose network keeps it from the API is not ended for it. Who looks is told what to do,
// and what is told works.
func TestAnAgentThatIsKeptFromTheAPIIsWaitedForAndHelped(t *testing.T) {
	t.Parallel()
	cloud, settings := startCloud(t)
	settings["OMOI_TASK_STARTUP_TIMEOUT"] = "5s"
	r := newRig(t, settings).up()
	cloud.Faults().Set(daytonatest.Fault{Switch: daytonatest.EgressBlocked})
	made := r.submit(r.repo(), script(stepWrite, stepCommit, stepComplete), inDaytona)
	told := r.until(made.ID, "says what to do", func(t task.Task) bool {
		return strings.Contains(t.WaitingFor.Message, "has ended and cannot reach the API")
	})
	require.Contains(t, told.Why, "The agent has ended and cannot reach the API: if its network keeps it from that, set OMOI_TRANSPORT_DAYTONA=pull for omoi worker")
	require.Contains(t, told.Why, "which alone does not end it")
	require.Contains(t, r.omoi("show", made.ID).stdout, "OMOI_TRANSPORT_DAYTONA=pull")

	r.kill("worker")
	r.env["OMOI_TRANSPORT_DAYTONA"] = "pull"
	r.startWorker()
	require.Zero(t, r.omoi("cancel", made.ID).code)
	r.ends(made.ID, task.StatusCancelled)
	require.Zero(t, r.omoi("retry", made.ID).code)
	r.until(made.ID, "is completed", func(t task.Task) bool { return t.Status == task.StatusCompleted })
	r.noLeaks()
	require.Empty(t, cloud.Boxes())
	receipt := r.omoi("receipt", made.ID)
	require.Contains(t, receipt.stdout, "push (the agent calls the API)")
	require.Contains(t, receipt.stdout, "pull (a worker reads the events)\n")
}

// A task is cancelled while its sandbox is made, and every answer to that is lost: what appears
// behind the first look is deleted by the second, and stands in the receipt.
func TestWhatAppearsBehindTheFirstLookIsDeletedAndAccountedFor(t *testing.T) {
	t.Parallel()
	cloud, settings := startCloud(t)
	settings["OMOI_DAYTONA_MAX_CREATE_DELAY"] = "20s" // between the looks, while a busy machine has to see the first one
	r := newRig(t, settings).up()
	const many = 1000
	cloud.Faults().Set(daytonatest.Fault{Switch: daytonatest.LateCreate, Delay: time.Hour, Times: many})
	made := r.submit(r.repo(), script(stepComplete), inDaytona)
	r.eventually("a create is under way", func() bool { return cloud.Faults().On()[0].Times < many })
	_, _, err := r.api.Cancel(t.Context(), made.ID, "enough")
	require.NoError(t, err)
	r.ends(made.ID, task.StatusCancelled)
	r.eventually("it was looked for once", func() bool {
		return r.count(`SELECT count(*) FROM sandboxes WHERE gone_at IS NOT NULL AND made_at IS NULL AND verified_at IS NULL`) == 1
	})
	require.Empty(t, cloud.Boxes())
	cloud.Advance(2 * time.Hour)
	r.eventually("it is there after all", func() bool { return r.count(`SELECT count(*) FROM sandboxes WHERE made_at IS NOT NULL`) == 1 })
	r.eventually("what appeared was looked for", func() bool { return r.count(`SELECT count(*) FROM sandboxes WHERE gone_at > made_at`) == 1 })
	r.noLeaks()
	require.Empty(t, cloud.Boxes())
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes WHERE gone_at > made_at AND made_at > deleted_at`), "it lived between the looks")
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes WHERE verified_at >= gone_at + interval '19 seconds'`), "and was looked for twice")
	receipt := r.omoi("receipt", made.ID)
	require.Zero(t, receipt.code, receipt.stderr)
	require.Contains(t, receipt.stdout, madeWord)
}

// A create that is later than the second look too: its sandbox is taken up again, deleted and looked for anew, and the receipt says so.
func TestWhatAppearsBehindTheSecondLookIsDeletedAndAccountedFor(t *testing.T) {
	t.Parallel()
	cloud, settings := startCloud(t)
	settings["OMOI_DAYTONA_MAX_CREATE_DELAY"], settings["OMOI_REAPER_INTERVAL"] = "1ms", "1s"
	r := newRig(t, settings).up()
	const many = 1000
	cloud.Faults().Set(daytonatest.Fault{Switch: daytonatest.LateCreate, Delay: time.Hour, Times: many})
	made := r.submit(r.repo(), script(stepComplete), inDaytona)
	r.eventually("a create is under way", func() bool { return cloud.Faults().On()[0].Times < many })
	_, _, err := r.api.Cancel(t.Context(), made.ID, "enough")
	require.NoError(t, err)
	r.ends(made.ID, task.StatusCancelled)
	r.noLeaks()
	require.Empty(t, cloud.Boxes())
	cloud.Advance(2 * time.Hour)
	r.eventually("it is taken up again", func() bool { return r.count(`SELECT count(*) FROM sandboxes WHERE adopted_at > deleted_at`) == 1 })
	r.noLeaks()
	require.Empty(t, cloud.Boxes())
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes WHERE made_at > deleted_at AND verified_at > made_at`))
	receipt := r.omoi("receipt", made.ID)
	require.Zero(t, receipt.code, receipt.stderr)
	require.Contains(t, receipt.stdout, "reappeared")
}
