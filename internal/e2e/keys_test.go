package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// A task is created, watched and retried by its key alone; branch, pull request and workflow show the key.
func TestATaskByItsKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	created := r.omoi("project", "create", "--repo", repo, "--key", "app")
	require.Zero(t, created.code, created.stderr)
	require.Contains(t, created.stdout, "APP")
	taken := r.run("git", "-C", repo, "branch", "feature/APP-2-say-hello", "main") // by another installation, or by a person
	require.Zero(t, taken.code, taken.stderr)
	titled := func(in *apiclient.CreateTaskRequest) { in.Repo, in.ProjectID, in.Title = "", "app", "Say hello" }
	one := r.submit(repo, script(stepWrite, stepCommit, stepComplete), titled)
	two := r.submit(repo, script(stepWrite, stepCommit, stepComplete), titled)
	require.Equal(t, []string{"APP-1", "APP-2"}, []string{one.Key, two.Key})
	for key, branch := range map[string]string{"APP-1": "feature/APP-1-say-hello", "APP-2": "feature/APP-2-say-hello-2"} {
		got := r.ends(key, task.StatusCompleted)
		require.Equal(t, branch, text(got.Branch))
		require.NotEmpty(t, text(got.PullURL))
		show := r.omoi("show", key)
		require.Contains(t, show.stdout, key)
		require.Contains(t, show.stdout, branch)
		require.Zero(t, r.omoi("logs", key).code)
		require.Contains(t, r.omoi("diff", key).stdout, "+hello")
		run, err := r.temporal.DescribeWorkflow(t.Context(), contract.TaskWorkflowID(got.ID), "")
		require.NoError(t, err)
		summary, err := run.GetStaticSummary()
		require.NoError(t, err)
		require.Equal(t, key+" Say hello", summary)
	}
	require.Contains(t, r.omoi("ps").stdout, "APP-2")
	require.Contains(t, r.omoi("ticket", "show", "app-t1").stdout, "APP-1")
	require.Contains(t, r.omoi("why", "app-2").stdout, "Completed after 1 attempt")
	require.NotZero(t, r.omoi("show", "APP-3").code)
	r.noLeaks()
}
