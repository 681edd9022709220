package github_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
	githubtest "github.com/omoi-dev/omoi/internal/testkit/github"
)

// TestEveryLostAnswerLeavesOneBranchAndOnePull counts the calls of a task, then repeats the task once for each call
// with the answer of this call lost. Failed steps are retried, as under Temporal (P7).
func TestEveryLostAnswerLeavesOneBranchAndOnePull(t *testing.T) {
	t.Parallel()
	plain := setup(t)
	plain.key = "APP-12"
	plain.life(func() {})
	calls := plain.server.Calls()
	require.Greater(t, len(calls), 12) //nolint:mnd // lookups, claim, branch, two copies, push, pull request
	for n, call := range calls {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.key = "APP-12"
			b.life(func() { b.server.Break(githubtest.Fault{Skip: n, Lose: true}) })
			require.Equal(t, []string{"feature/APP-12-say-hello"}, b.branches())
			pulls := b.server.Pulls(string(repo))
			require.Len(t, pulls, 1)
			require.Equal(t, "feature/APP-12-say-hello", pulls[0].Head)
			require.Equal(t, "1", git(t, b.bare, "rev-list", "--count", "main..feature/APP-12-say-hello"))
			b.leavesNothing()
		})
	}
}

// life makes the calls of a task, and retries each step until it succeeds.
func (b *bench) life(before func()) {
	b.t.Helper()
	before()
	ctx := b.t.Context()
	var branch scm.Branch
	b.again(func(ctx context.Context) (err error) {
		if err = b.host.Check(ctx, repo); err == nil {
			branch, err = b.host.EnsureBranch(ctx, b.request("t1"))
		}
		return err
	})
	var dir string
	b.again(func(context.Context) (err error) {
		dir, err = b.trySandbox(branch.Name) //nolint:contextcheck // uses the test's context
		return err
	})
	b.commit(dir, "a.txt", "a")
	b.again(func(ctx context.Context) (err error) {
		bundle := b.bundle(dir, branch.Base+".."+branch.Name) //nolint:contextcheck // uses the test's context
		_, err = b.host.Push(ctx, repo, branch.Name, bundle)
		return err
	})
	b.again(func(ctx context.Context) error {
		_, err := b.host.Ahead(ctx, repo, "", branch.Name)
		if err == nil {
			_, err = b.host.EnsurePull(ctx, repo, scm.PullRequest{Title: "[ticket] Say hello", Body: "text", Head: branch.Name})
		}
		return err
	})
	require.NoError(b.t, ctx.Err())
}

// again retries a step that fails with [task.CodeUnavailable].
func (b *bench) again(step func(context.Context) error) {
	b.t.Helper()
	var err error
	for range 4 {
		if err = step(b.t.Context()); err == nil {
			return
		}
		require.Equal(b.t, task.CodeUnavailable, task.CodeOf(err), err.Error())
	}
	require.NoError(b.t, err)
}

// TestEveryLostAnswerLeavesSavedWorkOnItsBranch does the same for the promotion of rescued work, with an existing and
// with a deleted branch.
func TestEveryLostAnswerLeavesSavedWorkOnItsBranch(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*bench, scm.Branch){
		"the branch stands": func(*bench, scm.Branch) {},
		"the branch is gone": func(b *bench, branch scm.Branch) {
			git(b.t, b.bare, "update-ref", "-d", "refs/heads/"+branch.Name)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain := setup(t)
			calls := plain.promoted(prepare, -1)
			require.GreaterOrEqual(t, len(calls), 4, "the saved work, the branch, its move, the note")
			for n, call := range calls {
				t.Run(call, func(t *testing.T) {
					t.Parallel()
					setup(t).promoted(prepare, n)
				})
			}
		})
	}
}

// promoted promotes rescued work while the answer of the n-th call is lost, and returns the calls.
func (b *bench) promoted(prepare func(*bench, scm.Branch), n int) []string {
	b.t.Helper()
	branch, ref, commit := b.rescued()
	require.NoError(b.t, b.server.Unprotect(string(repo)))
	prepare(b, branch)
	before := len(b.server.Calls())
	if n >= 0 {
		b.server.Break(githubtest.Fault{Skip: n, Lose: true})
	}
	var head string
	b.again(func(ctx context.Context) (err error) {
		head, err = b.host.Promote(ctx, repo, branch.Name, ref, commit)
		return err
	})
	require.Equal(b.t, commit, head)
	require.Equal(b.t, []string{branch.Name}, b.branches())
	require.Equal(b.t, commit, b.head("refs/heads/"+branch.Name))
	require.Equal(b.t, commit, b.head("refs/omoi/heads/"+branch.Name), "where it is made again")
	b.leavesNothing()
	return b.server.Calls()[before:]
}
