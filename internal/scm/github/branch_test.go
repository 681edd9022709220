package github_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestEnsureBranch_SameTaskSameBranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.ensure("t1")
	require.Equal(t, scm.Branch{Name: "feature/ticket-say-hello", Base: b.head("main"), Head: b.head("main")}, first)
	require.Equal(t, first, b.ensure("t1"))
	require.Equal(t, "feature/ticket-say-hello-2", b.ensure("t2").Name)
	require.Len(t, b.branches(), 2)
}

func TestEnsureBranch_RetryKeepsBranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, head := b.work("t1")
	person := b.person("main")
	b.commit(person, "other.txt", "meanwhile")
	git(t, person, "push", "--quiet", "origin", "main")
	req := b.request("t1")
	req.Known = branch.Name
	again, err := b.host.EnsureBranch(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, scm.Branch{Name: branch.Name, Base: branch.Base, Head: head}, again)
}

// TestEnsureBranch_IgnoresCaseOfRepository checks that both spellings share one claim and one pull request.
func TestEnsureBranch_IgnoresCaseOfRepository(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir, err := b.server.Add("Acme/Other")
	require.NoError(t, err)
	b.server.Grant(token, "Acme/Other", "push")
	for _, name := range []scm.Repo{"Acme/Other", "acme/other"} {
		req := b.request("t1")
		req.Repo = name
		branch, err := b.host.EnsureBranch(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, "feature/ticket-say-hello", branch.Name)
		person := filepath.Join(t.TempDir(), "work")
		git(t, "", "clone", "--quiet", "--branch", branch.Name, dir, person)
		b.commit(person, "x.txt", string(name))
		_, err = b.host.Push(t.Context(), name, branch.Name, b.bundle(person, branch.Name))
		require.NoError(t, err)
		pull, err := b.host.EnsurePull(t.Context(), name, scm.PullRequest{Title: "t", Body: "text", Head: branch.Name, Base: "main"})
		require.NoError(t, err)
		require.Equal(t, 1, pull.Number)
	}
	require.Len(t, b.server.Pulls("Acme/Other"), 1)
}

func TestEnsureBranch_RestoresDeletedBranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, head := b.work("t1")
	git(t, b.bare, "update-ref", "-d", "refs/heads/"+branch.Name)
	req := b.request("t1")
	req.Known = branch.Name
	again, err := b.host.EnsureBranch(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, head, again.Head)
	require.Equal(t, head, b.head("refs/heads/"+branch.Name))
}

// TestEnsureBranch_UnrelatedHistory checks that the advice of the error works: GitHub opens no pull request for an
// unrelated history.
func TestEnsureBranch_UnrelatedHistory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, head := b.work("t1")
	person := b.person(branch.Name)
	git(t, person, "checkout", "--quiet", "--orphan", "other")
	b.commit(person, "other.txt", "another history")
	git(t, person, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/"+branch.Name)
	req := b.request("t1")
	req.Known = branch.Name
	_, err := b.host.EnsureBranch(t.Context(), req)
	require.Equal(t, task.CodeConflict, task.CodeOf(err), err)
	require.ErrorContains(t, err, "Branch "+branch.Name+" of acme/app has no commit in common with main")
	require.ErrorContains(t, err, "delete the branch")
	git(t, b.bare, "update-ref", "-d", "refs/heads/"+branch.Name)
	again, err := b.host.EnsureBranch(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, head, again.Head)
}

// TestEnsureBranch_TakenNamesOnAllPages takes more names than one page of the list has.
func TestEnsureBranch_TakenNamesOnAllPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var script strings.Builder
	for n := range 230 {
		fmt.Fprintf(&script, "create refs/heads/feature/ticket-say-hello%s %s\n", []string{"", fmt.Sprintf("-%d", n+1)}[min(n, 1)], b.head("main"))
	}
	gitStdin(t, b.bare, script.String(), "update-ref", "--stdin")
	require.Equal(t, "feature/ticket-say-hello-231", b.ensure("t1").Name)
}

func TestEnsureBranch_BranchNamedLikeThePrefix(t *testing.T) {
	t.Parallel()
	b := setup(t)
	git(t, b.bare, "branch", "feature", "main")
	require.Equal(t, "omoi-feature/ticket-say-hello", b.ensure("t1").Name)
}

func TestEnsureBranch_ConcurrentTasks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	names := make(chan string)
	for n := range 4 {
		go func() {
			branch, err := b.host.EnsureBranch(t.Context(), b.request(fmt.Sprintf("t%d", n)))
			for range 5 { // a task that loses every name retries, as under Temporal
				if task.CodeOf(err) == task.CodeUnavailable {
					branch, err = b.host.EnsureBranch(t.Context(), b.request(fmt.Sprintf("t%d", n)))
				}
			}
			if err != nil {
				branch.Name = err.Error()
			}
			names <- branch.Name
		}()
	}
	seen := map[string]bool{}
	for range 4 {
		name := <-names
		require.True(t, strings.HasPrefix(name, "feature/ticket-say-hello"), name)
		require.False(t, seen[name], name)
		seen[name] = true
	}
	require.Len(t, b.branches(), 4)
}

// TestEnsureBranch_SameKeyInOtherInstallations uses one key with four tickets: no installation knows the tickets of
// another.
func TestEnsureBranch_SameKeyInOtherInstallations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.key = "APP-12"
	var wait sync.WaitGroup
	branches := make([]scm.Branch, 4)
	for n := range branches {
		wait.Go(func() {
			req := b.request(fmt.Sprintf("t%d", n))
			req.TicketID = fmt.Sprintf("ticket%d", n)
			// A task that loses every name retries, as under Temporal.
			for tries := 0; branches[n].Name == "" && tries < 6; tries++ {
				branches[n], _ = b.host.EnsureBranch(t.Context(), req) // the assertions below check the names
			}
		})
	}
	wait.Wait()
	names := map[string]bool{}
	for _, branch := range branches {
		require.Regexp(t, `^feature/APP-12-say-hello(-[0-9]+)?$`, branch.Name)
		names[branch.Name] = true
	}
	require.Len(t, names, 4)
}

// TestEnsureBranch_KeepsTheClaimOfAnOlderWorker checks that a task keeps the branch that an older worker created.
func TestEnsureBranch_KeepsTheClaimOfAnOlderWorker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	older := b.ensure("t1")
	b.key = "APP-12"
	require.Equal(t, older, b.ensure("t1"))
}

// TestEnsureBranch_OlderWorkersFindTheBranchByItsTicket checks that an older worker uses the branch that a newer worker
// created.
func TestEnsureBranch_OlderWorkersFindTheBranchByItsTicket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.key = "APP-12"
	made := b.ensure("t1")
	require.Equal(t, "feature/APP-12-say-hello", made.Name)
	b.key = ""
	require.Equal(t, made, b.ensure("t1"))
}

func TestCheck_UnusableRepositories(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.server.AddEmpty("acme/empty")
	require.NoError(t, err)
	_, err = b.server.Add("acme/old")
	require.NoError(t, err)
	_, err = b.server.Add("acme/theirs")
	require.NoError(t, err)
	b.server.Archive("acme/old")
	b.server.Grant(token, "acme/empty", "push")
	b.server.Grant(token, "acme/old", "push")
	b.server.Grant(token, "acme/theirs", "pull")
	for name, want := range map[string]struct {
		code task.Code
		text string
	}{
		"acme/empty":    {task.CodeInvalid, "has no branches: it has no commits yet"},
		"acme/old":      {task.CodeInvalid, "is archived"},
		"acme/theirs":   {task.CodeForbidden, "may read acme/theirs but not push"},
		"acme/nowhere":  {task.CodeInvalid, "no access to it"},
		"acme/../other": {task.CodeInvalid, "owner/name"},
	} {
		err := b.host.Check(t.Context(), scm.Repo(name))
		requireCode(t, want.code, err)
		require.Contains(t, task.MessageOf(err), want.text)
		require.NotContains(t, err.Error(), token)
	}
	require.NoError(t, b.host.Check(t.Context(), repo))
	b.server.Revoke(token)
	err = b.host.Check(t.Context(), repo)
	requireCode(t, task.CodeForbidden, err)
	require.Contains(t, task.MessageOf(err), "expired")
}

func TestEnsureBranch_StartsAtACommit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	began := b.head("main")
	first := b.ensure("t1")
	person := b.person("main")
	b.commit(person, "other.txt", "meanwhile")
	git(t, person, "push", "--quiet", "origin", "main")
	req := b.request("t1-1")
	req.At = began
	for range 2 {
		got, err := b.host.EnsureBranch(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, scm.Branch{Name: first.Name + "-2", Base: began, Head: began}, got)
		require.NotEqual(t, b.head("main"), got.Head)
	}
	head, err := b.host.Head(t.Context(), repo, "")
	require.NoError(t, err)
	require.Equal(t, b.head("main"), head)
	head, err = b.host.Head(t.Context(), repo, first.Name)
	require.NoError(t, err)
	require.Equal(t, first.Head, head)
	_, err = b.host.Head(t.Context(), repo, "nowhere")
	requireCode(t, task.CodeInvalid, err)

	req = b.request("t2")
	req.At = strings.Repeat("a", 40)
	_, err = b.host.EnsureBranch(t.Context(), req)
	requireCode(t, task.CodeConflict, err)
	require.ErrorContains(t, err, "no longer has commit aaaa")
}
