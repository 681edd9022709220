package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
	githubtest "github.com/omoi-dev/omoi/internal/testkit/github"
)

// TestGitHubRefusesAndTakesAgain has a rate limit that lasts longer than any step, and a rule that protects the branch until the
// work is done: the one parks its task, the other one's work is published by a retry, without a sandbox.
func TestGitHubRefusesAndTakesAgain(t *testing.T) {
	t.Parallel()
	hub, bare, settings := newHub(t)
	r := newRig(t, settings).up()
	limit := githubtest.Fault{Status: http.StatusForbidden, RetryAfter: 3600, Secondary: true, Message: "You have exceeded a secondary rate limit."}
	limit.Call = "POST git/refs"
	hub.Break(limit)
	limited := r.submit("Acme/App", script(stepWrite, stepCommit, stepComplete), retries(0))
	require.Equal(t, hubRepo, limited.Repo)
	parked := r.until(limited.ID, "it is parked", func(got task.Task) bool { return got.Blocked == task.BlockedProviderLimit })
	require.Contains(t, parked.Why, "GitHub's rate limit is reached")
	require.Zero(t, parked.AttemptCount)
	r.retry(limited.ID)
	done := r.ends(limited.ID, task.StatusCompleted)
	require.Len(t, hub.Pulls(hubRepo), 1)

	limit.Call = "POST pulls"
	hub.Break(limit)
	held := r.submit(hubRepo, script(`{"write":{"path":"held.txt","content":"held\n"}}`, stepCommit, stepComplete), retries(0))
	r.until(held.ID, "it is parked", func(got task.Task) bool { return got.Blocked == task.BlockedProviderLimit })
	r.retry(held.ID)
	require.Equal(t, 1, r.ends(held.ID, task.StatusCompleted).AttemptCount, "the work was done")
	require.Len(t, hub.Pulls(hubRepo), 2)

	guarded := r.submit(hubRepo, script(`{"write":{"path":"more.txt","content":"more\n"}}`, stepCommit, waitsForMessage, stepComplete), retries(0))
	branch := text(r.waiting(guarded.ID).Branch)
	require.NoError(t, hub.Protect(hubRepo, branch))
	r.goOn(guarded.ID)
	failed := r.ends(guarded.ID, task.StatusFailed)
	require.Equal(t, task.ClassPublish, failed.FailureClass)
	r.noLeaks()
	failed = r.task(guarded.ID)
	require.Contains(t, failed.Why, "saved outside its branch")
	shown := r.omoi("show", guarded.ID).stdout
	require.Contains(t, shown, "Not all work of attempt 1 is on the branch. Next: omoi work")
	require.NoError(t, hub.Unprotect(hubRepo))
	r.retry(guarded.ID)
	published := r.ends(guarded.ID, task.StatusCompleted)
	require.Equal(t, 1, published.AttemptCount, "no sandbox was made for it")
	require.Equal(t, "completed", published.Attempts[0].Outcome, published.Attempts[0].Reason)
	require.NotContains(t, r.omoi("show", guarded.ID).stdout, "Not all work", "it is on its branch")
	require.Equal(t, "more\n", r.run("git", "-C", bare, "show", branch+":more.txt").stdout)
	require.Len(t, hub.Pulls(hubRepo), 3)
	require.NotEqual(t, text(done.Branch), branch)

	work := []string{`{"write":{"path":"judged.txt","content":"judged\n"}}`, stepCommit, waitsForMessage}
	judged := r.submit(hubRepo, judgedScript(work, []string{`{"verdict":{"command":"grep -q judged judged.txt","feedback":"good"}}`}), validate, retries(0))
	require.NoError(t, hub.Protect(hubRepo, text(r.waiting(judged.ID).Branch)))
	r.goOn(judged.ID)
	require.Equal(t, task.ClassPublish, r.ends(judged.ID, task.StatusFailed).FailureClass)
	r.noLeaks()
	require.Contains(t, r.task(judged.ID).Why, "pushes it and validates it")
	require.NoError(t, hub.Unprotect(hubRepo))
	r.retry(judged.ID)
	found := r.ends(judged.ID, task.StatusCompleted)
	require.Equal(t, []string{"first", "validation"}, attemptsOf(found, func(a task.Attempt) string { return a.Kind }), "without a new attempt at the work")
	require.Len(t, hub.Pulls(hubRepo), 4)
}
