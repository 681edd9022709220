package app

import (
	"cmp"
	"context"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/github"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// branches implements the branch workflow on GitHub.
type branches struct {
	hub   *github.Hub
	pause time.Duration // pause before the second call; doubles before each further call
}

// Calls to GitHub for a branch or a pull request, and the first pause. Both values are those of OmoiOS.
const (
	branchCalls = 3
	branchPause = time.Second
)

// again calls do until GitHub answers, at most [branchCalls] times. The function do must be idempotent.
func (b branches) again(ctx context.Context, do func() error) error {
	err := do()
	for n := 1; n < branchCalls && task.CodeOf(err) == task.CodeUnavailable && wait.For(ctx, b.pause<<(n-1)) == nil; n++ {
		err = do()
	}
	return err
}

func repoOf(at client.BranchPlace) scm.Repo { return scm.Repo(at.RepoOwner + "/" + at.RepoName) }

// StartBranch implements api.Branches. A ticket has one branch, however often StartBranch is called.
func (b branches) StartBranch(ctx context.Context, who scm.Owner, in client.BranchStart) (branch, commit string, err error) {
	if scm.RefSafe(in.TicketID) != in.TicketID {
		return "", "", task.Invalid("ticket_id", "Invalid ticket_id %q: expected letters, digits, - and _, since it becomes part of a branch name.", in.TicketID)
	}
	var made scm.Branch
	err = b.again(ctx, func() (err error) {
		made, err = b.hub.As(who).EnsureBranch(ctx, scm.BranchRequest{
			Repo: repoOf(in.BranchPlace), TicketID: in.TicketID, TaskID: in.TicketID, Title: in.TicketTitle, TicketType: in.TicketType, Priority: in.Priority,
		})
		return err
	})
	return made.Name, made.Head, err
}

// FinishBranch implements api.Branches.
func (b branches) FinishBranch(ctx context.Context, who scm.Owner, in client.BranchFinish) (number int, url string, err error) {
	var pull scm.PullRequest
	err = b.again(ctx, func() (err error) {
		pull, err = b.hub.As(who).EnsurePull(ctx, repoOf(in.BranchPlace), scm.PullRequest{
			Title: "[" + in.TicketID + "] " + in.TicketTitle, Head: in.BranchName,
			Body: cmp.Or(in.PRBody, "Resolves #"+in.TicketID+".\n\nOpened automatically by omoi."),
		})
		return err
	})
	return pull.Number, pull.URL, err
}

// MergeBranch implements api.Branches.
func (b branches) MergeBranch(ctx context.Context, who scm.Owner, in client.BranchMerge) (commit, left string, conflict bool, err error) {
	done, err := b.hub.As(who).Merge(ctx, repoOf(in.BranchPlace), github.MergeRequest{
		Number: in.PRNumber, Method: in.MergeMethod, Ticket: in.TicketID, DeleteBranch: in.DeleteAfter == nil || *in.DeleteAfter,
	})
	if err == nil && done.Conflict {
		err = task.Errorf(task.CodeConflict, "%s", done.Reason)
	}
	return done.Commit, done.Reason, done.Conflict, err
}

// BranchStatus implements api.Branches.
func (b branches) BranchStatus(ctx context.Context, who scm.Owner, in client.CompareBranchRequest) (ahead, behind int, conflict bool, err error) {
	d, err := b.hub.As(who).Status(ctx, repoOf(in.BranchPlace), in.BranchName)
	return d.Ahead, d.Behind, d.Conflict, err
}
