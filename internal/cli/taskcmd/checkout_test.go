package taskcmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.invalid", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.invalid")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

// hosted returns a repository with a task's branch, and a server that has the task.
func hosted(t *testing.T, status task.Status) (f *fakeAPI, repo string) {
	t.Helper()
	f = newFake(t)
	repo = filepath.Join(t.TempDir(), "repo")
	git(t, "", "init", "--quiet", "--initial-branch=main", repo)
	git(t, repo, "commit", "--quiet", "--allow-empty", "-m", "Start")
	base := git(t, repo, "rev-parse", "HEAD")
	git(t, repo, "switch", "--quiet", "-c", "feature/x")
	require.NoError(t, os.WriteFile(filepath.Join(repo, "work.txt"), []byte("done\n"), 0o600))
	git(t, repo, "add", ".")
	git(t, repo, "commit", "--quiet", "-m", "Work")
	git(t, repo, "switch", "--quiet", "main")
	done := aTask(idA, status)
	done.Repo, done.Base = repo, &base
	f.tasks = []client.Task{done}
	return f, repo
}

func TestCheckout_InTheRepositoryItself(t *testing.T) {
	t.Parallel()
	f, repo := hosted(t, task.StatusCompleted)
	got := f.with(call{dir: repo}, "checkout", "-")
	require.Zero(t, got.code, got.err)
	require.FileExists(t, filepath.Join(repo, "work.txt"))
	require.Equal(t, "feature/x", git(t, repo, "branch", "--show-current"))
}

func TestCheckout_OfABranchThatRetentionRemoved(t *testing.T) {
	t.Parallel()
	f, repo := hosted(t, task.StatusFailed)
	git(t, repo, "branch", "--quiet", "-D", "feature/x")
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, "", "clone", "--quiet", repo, clone)
	require.Contains(t, f.with(call{dir: clone}, "checkout", "-").err, "Cannot fetch branch", "another user removed it")
	f.gone = "The branch of task " + idA + " was removed on 2026-11-23: older than retention.branches."
	for _, dir := range []string{repo, clone} {
		got := f.with(call{dir: dir}, "checkout", "-")
		require.Equal(t, exit.Failed, got.code)
		require.Contains(t, got.err, "was removed on 2026-11-23: older than retention.branches")
		require.NotContains(t, got.out, "Next: omoi diff")
	}
}

func TestCheckout_DetachesUnlessCompleted(t *testing.T) {
	t.Parallel()
	for _, status := range []task.Status{task.StatusRunning, task.StatusFailed, task.StatusCancelled} {
		f, repo := hosted(t, status)
		got := f.with(call{dir: repo}, "checkout", "-")
		require.Zero(t, got.code, got.err)
		require.FileExists(t, filepath.Join(repo, "work.txt"))
		require.Empty(t, git(t, repo, "branch", "--show-current"))
		require.Contains(t, got.out, "HEAD is detached")
	}
}

func TestCheckout_InACloneTwice(t *testing.T) {
	t.Parallel()
	f, repo := hosted(t, task.StatusCompleted)
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, "", "clone", "--quiet", repo, clone)
	require.Zero(t, f.with(call{dir: clone}, "checkout", "-").code)
	require.FileExists(t, filepath.Join(clone, "work.txt"))

	git(t, repo, "switch", "--quiet", "feature/x")
	git(t, repo, "commit", "--quiet", "--allow-empty", "-m", "More")
	got := f.with(call{dir: clone}, "checkout", "-")
	require.Zero(t, got.code, got.err)
	require.Equal(t, git(t, repo, "rev-parse", "feature/x"), git(t, clone, "rev-parse", "HEAD"))
}

func TestCheckout_KeepsAChangedWorkingCopy(t *testing.T) {
	t.Parallel()
	f, repo := hosted(t, task.StatusCompleted)
	require.NoError(t, os.WriteFile(filepath.Join(repo, "mine.txt"), []byte("mine\n"), 0o600))
	before := git(t, repo, "status", "--porcelain", "--branch")
	got := f.with(call{dir: repo}, "checkout", "-")
	require.Equal(t, exit.NeedsYou, got.code)
	require.Contains(t, got.err, "git worktree add <folder> ")
	require.Equal(t, before, git(t, repo, "status", "--porcelain", "--branch"))
	f.tasks[0].Status = task.StatusRunning
	require.Contains(t, f.with(call{dir: repo}, "checkout", "-").err, "git worktree add --detach <folder> ", "the branch stays free for the agent")
}

// git checks a branch out in one folder only, and its error names the folder.
func TestCheckout_OfABranchInAnotherFolder(t *testing.T) {
	t.Parallel()
	f, repo := hosted(t, task.StatusCompleted)
	tree := filepath.Join(t.TempDir(), "my tree")
	git(t, repo, "worktree", "add", "--quiet", tree, *f.tasks[0].Branch)
	got := f.with(call{dir: repo}, "checkout", "-")
	require.Equal(t, exit.Failed, got.code)
	require.Contains(t, got.err, tree)
	require.Contains(t, got.err, "Next: ")
	require.NotContains(t, got.err, "fatal:")
	require.NoError(t, os.RemoveAll(tree))
	git(t, repo, "worktree", "prune")
	got = f.with(call{dir: repo}, "checkout", "-")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "git switch -")
	require.Zero(t, f.with(call{dir: repo}, "checkout", "-").code, "it stands there already")
}

func TestCheckout_RefusesOtherRepositories(t *testing.T) {
	t.Parallel()
	f, repo := hosted(t, task.StatusCompleted)
	got := f.with(call{dir: t.TempDir()}, "checkout", "-")
	require.Equal(t, exit.Usage, got.code)
	require.Contains(t, got.err, "git clone")

	other := t.TempDir()
	git(t, other, "init", "--quiet")
	git(t, other, "commit", "--quiet", "--allow-empty", "-m", "Another project")
	got = f.with(call{dir: other}, "checkout", "-")
	require.Equal(t, exit.Failed, got.code)
	require.Contains(t, got.err, "The task works on "+repo+", and this working copy lacks commit")
	require.Contains(t, got.err, "Next: cd "+repo+" && omoi checkout 456789ab")
	require.Contains(t, f.with(call{dir: repo}, "checkout", "-").out, "is on branch feature/x", "the next step works")
	git(t, repo, "switch", "--quiet", "main")
	git(t, repo, "config", "core.bare", "true")
	require.Contains(t, f.with(call{dir: other}, "checkout", "-").err, "Next: git clone "+repo+" <folder>, then in that folder: omoi checkout 456789ab")
	f.tasks[0].Repo = "octo/app"
	require.Contains(t, f.with(call{dir: other}, "checkout", "-").err, "Next: git fetch, or in a clone of octo/app: omoi checkout 456789ab")
	require.NotContains(t, git(t, other, "branch"), "feature/x")

	f.tasks[0].Branch = nil
	require.Equal(t, exit.Failed, f.with(call{dir: other}, "checkout", "-").code)
}
