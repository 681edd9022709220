package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// EnsureBranch finds or makes the task's one branch. A task without a repository has none.
func (a *Activities) EnsureBranch(ctx context.Context, in contract.BranchInput) (contract.BranchResult, error) {
	work, err := a.deps.Tasks.Work(ctx, in.TaskID)
	if err != nil || work.Repo == "" {
		return contract.BranchResult{}, err
	}
	host, err := a.host(work)
	if err != nil {
		return contract.BranchResult{}, classed(task.ClassInvalidInput, err)
	}
	repo := scm.Repo(work.Repo)
	if err := host.Check(ctx, repo); err != nil {
		return contract.BranchResult{}, ofHost(fmt.Errorf("check repository: %w", err))
	}
	branch, err := host.EnsureBranch(ctx, a.branchRequest(work))
	if task.CodeOf(err) == task.CodeConflict { // only a person can mend that
		return contract.BranchResult{}, classed(task.ClassInvalidInput, err)
	}
	if err != nil {
		return contract.BranchResult{}, ofHost(fmt.Errorf("create branch: %w", err))
	}
	out := contract.BranchResult{Branch: branch.Name, Base: began(work, branch)}
	// noted before any attempt needs it: StartAgent reads it from the store
	return out, a.deps.Tasks.SaveBranch(ctx, in.TaskID, out.Branch, out.Base)
}

// began is the commit on top of which the task's own work is.
func began(work task.Work, branch scm.Branch) string {
	switch {
	case branch.Name != work.Branch:
		return branch.Base
	case work.Base == "": // it goes on with the branch of another task, whose commits are none of its own
		return branch.Head
	}
	return work.Base // however far the branch is now
}

// host is where the task's repository is, used on behalf of the task's owner.
func (a *Activities) host(work task.Work) (scm.Host, error) {
	return a.deps.Git.For(work.Repo, scm.Owner{UserID: work.UserID, ProjectID: work.ProjectID})
}

// published says of an error that the work is done and could not be brought out; a credential that is refused is
// a class of its own, and so is a limit.
func published(err error) error {
	if task.CodeOf(err) == task.CodeForbidden {
		return classed(task.ClassCredentials, err)
	}
	if limited := ofHost(err); classOf(limited) == task.ClassProviderLimit {
		return limited
	}
	return classed(task.ClassPublish, err)
}

// ofHost is an error of work on a git host, or of a provider that makes sandboxes. One that said when it takes requests again is
// a limit, and no failure: where that is later than the step may take, the workflow waits for it.
func ofHost(err error) error {
	if task.CodeOf(err) == task.CodeExhausted && task.AfterOf(err) > 0 {
		return classed(task.ClassProviderLimit, err)
	}
	return err
}

// branchRequest asks for a branch; its name is pushed and stands in histories, so a credential
// that somebody wrote into a title does not get into it.
func (a *Activities) branchRequest(work task.Work) scm.BranchRequest {
	return scm.BranchRequest{
		Repo:       scm.Repo(work.Repo),
		Key:        work.Key,
		TicketID:   work.TicketID,
		Title:      a.scrub(work.Title),
		TicketType: work.TicketType,
		Priority:   work.Priority,
		TaskID:     work.TaskID,
		Known:      work.Branch,
		From:       work.DefaultBranch,
	}
}

// OpenPullRequest finds or opens the task's one pull request. A branch without commits has none.
func (a *Activities) OpenPullRequest(ctx context.Context, in contract.PullInput) (contract.PullResult, error) {
	work, err := a.deps.Tasks.Work(ctx, in.TaskID)
	if err != nil || work.Repo == "" || work.Branch == "" {
		return contract.PullResult{}, err
	}
	pull, err := a.pull(ctx, work)
	if err != nil {
		return contract.PullResult{}, published(err)
	}
	return contract.PullResult{Number: pull.Number, URL: pull.URL}, nil
}

func (a *Activities) pull(ctx context.Context, work task.Work) (scm.PullRequest, error) {
	host, err := a.host(work)
	if err != nil {
		return scm.PullRequest{}, err
	}
	repo := scm.Repo(work.Repo)
	ahead, err := host.Ahead(ctx, repo, work.DefaultBranch, work.Branch)
	if err != nil {
		return scm.PullRequest{}, fmt.Errorf("count commits of %s: %w", work.Branch, err)
	}
	if ahead == 0 && work.PullURL == "" {
		return scm.PullRequest{}, nil
	}
	pull, err := host.EnsurePull(ctx, repo, scm.PullRequest{
		Title: pullTitle(a.scrub(work.Title), work.Key),
		Body:  a.pullText(ctx, host, work),
		Head:  work.Branch,
		Base:  work.DefaultBranch,
	})
	if err != nil {
		return scm.PullRequest{}, fmt.Errorf("open pull request of %s: %w", work.Branch, err)
	}
	return pull, nil
}

// errRedo is of saved work that cannot come to its branch any more: an attempt has to do it again.
var errRedo = errors.New("the work has to be done again")

// PublishBranch brings the work of the last attempt to its branch, where that could not be pushed and was saved. Work that is there
// is left alone.
func (a *Activities) PublishBranch(ctx context.Context, in contract.BranchInput) error {
	_, stop := beating[struct{}](ctx)
	defer stop()
	work, err := a.deps.Tasks.Work(ctx, in.TaskID)
	if err != nil {
		return fmt.Errorf("read task %s: %w", in.TaskID, err)
	}
	saved, err := a.deps.Tasks.Unpublished(ctx, work.TaskID)
	if err != nil || saved.Head == "" {
		return err
	}
	head, err := a.promote(ctx, work, saved)
	if hopeless(saved, err) {
		err = fmt.Errorf("%w: %w", errRedo, err)
	}
	if err != nil {
		return published(err)
	}
	return a.deps.Ledger.SaveHead(ctx, work.TaskID, saved.Attempt, head)
}

// hopeless reports whether saved work can never come to its branch: that has other commits by now, or the repository takes the work
// under no name.
func hopeless(saved task.Unpublished, err error) bool {
	code := codeOf(err)
	return errors.Is(err, scm.ErrMoved) || err != nil && saved.Text != "" && final(code) && code != task.CodeForbidden
}

// promote moves the branch to work that the repository holds elsewhere, or pushes what it did not take at all.
func (a *Activities) promote(ctx context.Context, work task.Work, saved task.Unpublished) (string, error) {
	host, err := a.host(work)
	if err != nil {
		return "", err
	}
	if saved.Ref != "" {
		head, err := host.Promote(ctx, scm.Repo(work.Repo), work.Branch, saved.Ref, saved.Head)
		if err != nil {
			return "", fmt.Errorf("publish %s: %w", saved.Ref, err)
		}
		return head, nil
	}
	bundle := &keptWork{piece: func(n int) ([]byte, error) { return a.deps.Texts.SavedPiece(ctx, work.TaskID, saved.Text, n) }}
	head, err := host.Push(ctx, scm.Repo(work.Repo), work.Branch, bundle)
	if bundle.err != nil { // which is no fault of the bundle
		return "", fmt.Errorf("read the kept work: %w", bundle.err)
	}
	if err != nil {
		return "", fmt.Errorf("push the kept work to %s: %w", work.Branch, err)
	}
	return head, nil
}
