package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
	"github.com/omoi-dev/omoi/internal/testkit/daytona/openapitest"
)

// daytonaRig is a rig whose worker speaks to a Daytona emulator.
func daytonaRig(t *testing.T) (*rig, *daytonatest.Server) {
	t.Helper()
	cloud, settings := startCloud(t)
	return newRig(t, settings).up(), cloud
}

// startCloud starts an emulator, and answers the settings of who uses it.
func startCloud(t *testing.T) (*daytonatest.Server, map[string]string) {
	t.Helper()
	cloud := openapitest.Start(t, daytonatest.Options{DeathLag: time.Second})
	if !cloud.Confined() {
		t.Skipf("SKIPPED: the Daytona emulator needs bubblewrap: %v", cloud.Isolation())
	}
	return cloud, map[string]string{
		"DAYTONA_API_URL": cloud.URL(), "DAYTONA_API_KEY": cloud.Key(), "OMOI_DAYTONA_MAX_CREATE_DELAY": "1s",
	}
}

func inDaytona(in *apiclient.CreateTaskRequest) { in.Provider = task.ProviderDaytona }

func TestTaskInDaytonaEndToEnd(t *testing.T) {
	t.Parallel()
	r, cloud := daytonaRig(t)
	repo := r.repo()
	made := r.submit(repo, script(stepWrite, stepCommit, `{"bash":{"command":"wc -c hello.txt"}}`, `{"complete":{"output":"{{last_output}}","success":true}}`), inDaytona)
	got := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 1, got.AttemptCount)
	show := r.run("git", "-C", repo, "show", text(got.Branch)+":hello.txt")
	require.Equal(t, "hello\n", show.stdout, show.stderr)
	require.Contains(t, string(got.Result), "6 hello.txt")
	r.noLeaks()
	r.gapless()
	require.Empty(t, cloud.Boxes())
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes WHERE provider = 'daytona' AND host_id IS NULL AND 'snapshot ai-agent-dev-light' = ANY (isolation)`))
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes WHERE verified_at - gone_at >= interval '1 second'`), "a late create would have been seen")
}

// What is not committed is saved out of the cloud, and the agent's death there is seen.
func TestWorkInDaytonaIsSavedBeforeItIsDeleted(t *testing.T) {
	t.Parallel()
	r, cloud := daytonaRig(t)
	made := r.submit(r.repo(), script(stepUnsaved, stepHang), inDaytona)
	r.running(made.ID)
	r.eventually("the file is written", func() bool {
		return r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.file_edited'`) > 0
	})
	_, _, err := r.api.Cancel(t.Context(), made.ID, "enough")
	require.NoError(t, err)
	r.ends(made.ID, task.StatusCancelled)
	r.noLeaks()
	require.Empty(t, cloud.Boxes())
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes WHERE salvage ->> 'kind' IN ('ref', 'patch')`))
}

func TestDaytonaWithoutAKeyFailsAtOnceAndLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	made := r.submit(r.repo(), script(stepComplete), inDaytona)
	got := r.ends(made.ID, task.StatusFailed)
	require.Equal(t, task.ClassCredentials, got.FailureClass)
	require.Contains(t, text(got.ErrorMessage), "Daytona API key not configured. Next: set DAYTONA_API_KEY")
	require.Equal(t, 1, got.AttemptCount)
	r.noLeaks()
}
