package localgit_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// held locks the repository as another omoi process does.
func (b *bench) held() {
	b.t.Helper()
	require.NoError(b.t, b.host.Check(b.t.Context(), b.repo))
	f, err := os.Open(filepath.Join(b.path, ".git", "omoi", "lock"))
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = f.Close() })
	require.NoError(b.t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
}

func TestCheckDoesNotWaitForTheLock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.held()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, b.host.Check(ctx, b.repo))
}

// Of many that wait, each that gets the lock has the time to finish.
func TestLock_WaitLeavesTimeForTheWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.held()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := b.host.EnsureBranch(ctx, scm.BranchRequest{Repo: b.repo, TaskID: "t1", Title: "wait"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, ctx.Err(), "it gives up before its own time is over")
}

// A branch that the user's git has locked delays its own task, and not the others of the repository.
func TestLock_IsReleasedWhileABranchIsLocked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.ensure("t1"), b.ensure("t2")
	work := b.sandbox(first.Name)
	b.commit(work, "a.txt", "a")
	bundle := b.bundle(work, first.Name)
	b.locked("refs/heads/"+first.Name, 0)
	waits := filepath.Join(realTemp(t), "waits")
	host := failingGit(t, "update-ref", "case \" $* \" in *\" --git-dir="+filepath.Join(b.path, ".git")+" \"*) touch "+waits+" ;; esac")
	pushed := make(chan error, 1)
	go func() {
		_, err := host.Push(t.Context(), b.repo, first.Name, bundle)
		pushed <- err
	}()
	await(t, func() bool { return !mtime(waits).IsZero() })
	ctx, cancel := context.WithTimeout(t.Context(), 16*time.Second) // half of it is for the lock
	defer cancel()
	_, err := b.host.EnsurePull(ctx, b.repo, scm.PullRequest{Head: second.Name})
	require.NoError(t, err)
	requireCode(t, task.CodeUnavailable, <-pushed)
}
