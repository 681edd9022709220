package github_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/github"
	"github.com/omoi-dev/omoi/internal/task"
	githubtest "github.com/omoi-dev/omoi/internal/testkit/github"
)

func (b *bench) pull(branch, body string) scm.PullRequest {
	b.t.Helper()
	made, err := b.host.EnsurePull(b.t.Context(), repo, scm.PullRequest{Title: "[ticket] Say hello", Body: body, Head: branch})
	require.NoError(b.t, err)
	return made
}

func TestEnsurePull_OnePerBranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, _ := b.work("t1")
	first := b.pull(branch.Name, "first")
	require.Equal(t, "open", first.State)
	require.Equal(t, "main", first.Base)
	require.Equal(t, b.server.URL+"/acme/app/pull/1", first.URL)
	b.server.ChangePull(string(repo), 1, "", "A person's own words.\n\n"+first.Body+"\nMore of them.")
	second := b.pull(branch.Name, "second")
	require.Equal(t, first.Number, second.Number)
	require.Len(t, b.server.Pulls(string(repo)), 1)
	body := b.server.Pulls(string(repo))[0].Body
	for _, want := range []string{"A person's own words.", "More of them.", "second"} {
		require.Contains(t, body, want)
	}
	require.NotContains(t, body, "first")
}

// TestAhead_FromOtherBase checks that commits which the base branch already had do not count as work of the task.
func TestAhead_FromOtherBase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	git(t, b.bare, "branch", "develop", "main")
	person := b.person("develop")
	b.commit(person, "theirs.txt", "theirs")
	git(t, person, "push", "--quiet", "origin", "develop")
	req := b.request("t1")
	req.From = "develop"
	branch, err := b.host.EnsureBranch(t.Context(), req)
	require.NoError(t, err)
	for base, want := range map[string]int{"develop": 0, "": 1} {
		ahead, err := b.host.Ahead(t.Context(), repo, base, branch.Name)
		require.NoError(t, err)
		require.Equal(t, want, ahead, base)
	}
	git(t, b.bare, "update-ref", "refs/heads/main", "develop")
	for commit, want := range map[string]int{"develop~1": 1, "develop": 0} { // merged or not
		ahead, err := b.host.Ahead(t.Context(), repo, git(t, b.bare, "rev-parse", commit), branch.Name)
		require.NoError(t, err)
		require.Equal(t, want, ahead, commit)
	}
	_, err = b.host.Ahead(t.Context(), repo, "gone", branch.Name)
	requireCode(t, task.CodeInvalid, err)
}

func TestEnsurePull_KeepsBodyWithoutMarks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, _ := b.work("t1")
	b.pull(branch.Name, "ours")
	b.server.ChangePull(string(repo), 1, "", "theirs alone")
	b.pull(branch.Name, "ours again")
	require.Equal(t, "theirs alone", b.server.Pulls(string(repo))[0].Body)
}

func TestEnsurePull_ReopensClosed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, _ := b.work("t1")
	b.pull(branch.Name, "first")
	b.server.ChangePull(string(repo), 1, "closed", "")
	require.Equal(t, "open", b.pull(branch.Name, "second").State)
	require.Len(t, b.server.Pulls(string(repo)), 1)
}

func TestEnsurePull_AfterMerge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, _ := b.work("t1")
	b.pull(branch.Name, "first")
	done, err := b.host.Merge(t.Context(), repo, github.MergeRequest{Number: 1, Method: "squash"})
	require.NoError(t, err)
	require.Equal(t, b.head("main"), done.Commit)
	require.Equal(t, "merged", b.pull(branch.Name, "first").State)
	dir := b.sandbox(branch.Name)
	b.commit(dir, "more.txt", "more")
	_, err = b.host.Push(t.Context(), repo, branch.Name, b.bundle(dir, branch.Name))
	require.NoError(t, err)
	require.Equal(t, 2, b.pull(branch.Name, "second").Number, "commits that came after the merge need one of their own")
}

// TestEnsurePull_ListLagsBehind checks that a pull request missing in the list is found when GitHub rejects a second
// one.
func TestEnsurePull_ListLagsBehind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, _ := b.work("t1")
	b.server.Break(githubtest.Fault{Call: "POST pulls", Lose: true})
	_, err := b.host.EnsurePull(t.Context(), repo, scm.PullRequest{Title: "x", Head: branch.Name})
	requireCode(t, task.CodeUnavailable, err)
	b.server.Hide(2) // before and after the rejection
	_, err = b.host.EnsurePull(t.Context(), repo, scm.PullRequest{Title: "x", Head: branch.Name})
	requireCode(t, task.CodeUnavailable, err)
	b.server.Hide(1)
	require.Equal(t, 1, b.pull(branch.Name, "").Number)
	require.Len(t, b.server.Pulls(string(repo)), 1)
}

func TestCheck_Timeout(t *testing.T) {
	t.Parallel()
	hub, err := github.New(github.Config{URL: setup(t).server.URL, HTTP: &http.Client{Timeout: time.Nanosecond}}, users{who: token})
	require.NoError(t, err)
	requireCode(t, task.CodeUnavailable, hub.As(scm.Owner{UserID: who}).Check(t.Context(), repo))
}

func TestCheck_RateLimit(t *testing.T) {
	t.Parallel()
	for _, f := range []githubtest.Fault{
		{Status: 403, Secondary: true, RetryAfter: 42, Message: "You have exceeded a secondary rate limit."},
		{Status: 429, RetryAfter: 42, Message: "Too many requests"},
		{Status: 403, RetryAfter: 42, Message: "You have triggered an abuse detection mechanism"},
	} {
		b := setup(t)
		b.server.Break(f)
		err := b.host.Check(t.Context(), repo)
		requireCode(t, task.CodeExhausted, err)
		require.InDelta(t, 42, task.AfterOf(err).Seconds(), 1)
	}
	b := setup(t)
	b.server.Break(githubtest.Fault{Status: 502, Message: "Bad gateway"})
	requireCode(t, task.CodeUnavailable, b.host.Check(t.Context(), repo))
}
