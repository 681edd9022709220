package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// Branches stores the branches of tasks.
type Branches interface {
	// SaveBranch records the task's branch and base commit. It does not change recorded values.
	SaveBranch(ctx context.Context, taskID, branch, base string) error
	// MoveBranch gives the task another branch. It changes nothing if the task has branch already, and fails if it has a third one.
	MoveBranch(ctx context.Context, taskID, was, branch string) error
	// CheckpointCommits returns the commits that a checkpoint needs; zero if the checkpoint is not stored.
	CheckpointCommits(ctx context.Context, taskID string, id checkpoint.ID) (checkpoint.Commits, error)
	// SaveBranchCommit records the commit of the branch that a sandbox got.
	SaveBranchCommit(ctx context.Context, sandboxID, commit string) error
	// SaveChangeSize stores the number of changed files of a task's pull request, and of its added and deleted lines together.
	SaveChangeSize(ctx context.Context, taskID string, files, lines int) error
}

// EnsureBranch finds or creates the branch of the task. A task without a repository has none.
func (a *Activities) EnsureBranch(ctx context.Context, in contract.EnsureBranchInput) (contract.BranchResult, error) {
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
	if in.Checkpoint != "" && (err == nil || errors.Is(err, scm.ErrCheckedOut)) {
		was, busy := branch.Name, err
		if branch, err = a.branchOf(ctx, host, &work, branch, in.Checkpoint); branch.Name == was {
			err = cmp.Or(err, busy)
		}
	}
	if task.CodeOf(err) == task.CodeConflict { // only a user can resolve a conflict
		return contract.BranchResult{}, classed(task.ClassInvalidInput, err)
	}
	if err != nil {
		return contract.BranchResult{}, ofHost(fmt.Errorf("create branch: %w", err))
	}
	out := contract.BranchResult{Branch: branch.Name, Base: began(work, branch)}
	// saved before an attempt starts: StartAgent reads it from the store
	return out, a.deps.Tasks.SaveBranch(ctx, in.TaskID, out.Branch, out.Base)
}

// branchOf returns the branch on which an attempt continues from a checkpoint: the branch of the task, or a new one if that
// branch has commits that the checkpoint lacks. The new one starts where the branch was when the attempt of the checkpoint began.
func (a *Activities) branchOf(ctx context.Context, host scm.Host, work *task.Work, now scm.Branch, name string) (scm.Branch, error) {
	id, err := checkpoint.ParseID(name)
	if err != nil {
		return now, err
	}
	from, err := a.deps.Tasks.CheckpointCommits(ctx, work.TaskID, id)
	if err != nil || from.Given || from.Branch == "" || now.Head == from.Head || now.Head == from.Branch {
		return now, err // the sandbox compares the commits of a user with the branch
	}
	next := *work
	next.Branch, next.EarlierBranches = "", append(slices.Clone(work.EarlierBranches), now.Name)
	req := a.branchRequest(next)
	req.At = from.Branch
	branch, err := host.EnsureBranch(ctx, req)
	if err != nil {
		return branch, err
	}
	work.Branch = branch.Name // the base of the task stays: the new branch has the work since then
	return branch, a.deps.Tasks.MoveBranch(ctx, work.TaskID, now.Name, branch.Name)
}

// began returns the commit that the task's own work is based on.
func began(work task.Work, branch scm.Branch) string {
	switch {
	case branch.Name != work.Branch:
		return branch.Base
	case work.Base == "": // the task continues the branch of another task, whose commits are not its own work
		return branch.Head
	}
	return work.Base // the branch may have advanced since
}

// host returns the Git host of the task's repository, with the access of the task's user.
func (a *Activities) host(work task.Work) (scm.Host, error) {
	return a.deps.Git.For(work.Repo, scm.Owner{UserID: work.UserID, ProjectID: work.ProjectID})
}

// published classifies an error of publishing finished work: refused credential, rate limit, or class publish.
func published(err error) error {
	if task.CodeOf(err) == task.CodeForbidden {
		return classed(task.ClassCredentials, err)
	}
	if limited := ofHost(err); classOf(limited) == task.ClassProviderLimit {
		return limited
	}
	return classed(task.ClassPublish, err)
}

// ofHost classifies an error of a Git host or a sandbox provider. A rate limit with a known end is not a failure: if
// the end is later than the activity's timeout, the workflow waits.
func ofHost(err error) error {
	if task.CodeOf(err) == task.CodeExhausted && task.AfterOf(err) > 0 {
		return classed(task.ClassProviderLimit, err)
	}
	return err
}

// branchRequest returns the request for the task's branch. The name is pushed and stored in histories, so secrets in
// the title are removed.
func (a *Activities) branchRequest(work task.Work) scm.BranchRequest {
	return scm.BranchRequest{
		Repo:       scm.Repo(work.Repo),
		Key:        work.Key,
		TicketID:   work.TicketID,
		Title:      a.scrub(work.Title),
		TicketType: work.TicketType,
		Priority:   work.Priority,
		TaskID:     task.BranchOwner(work.TaskID, len(work.EarlierBranches)),
		Known:      work.Branch,
		From:       work.DefaultBranch,
		At:         work.Base, // forks and candidates have a base before their branch
	}
}

// OpenPullRequest finds or opens the pull request of the task. A branch without commits has none.
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
	story, work := a.story(ctx, work)
	files, err := a.changes(ctx, host, work)
	if err != nil {
		return scm.PullRequest{}, err
	}
	pull, err := host.EnsurePull(ctx, repo, scm.PullRequest{
		Title: pullTitle(a.scrub(work.Title), work.Key),
		Body:  a.pullText(work, story, files),
		Head:  work.Branch,
		Base:  work.DefaultBranch,
	})
	if err != nil {
		return scm.PullRequest{}, fmt.Errorf("open pull request of %s: %w", work.Branch, err)
	}
	return pull, nil
}

// errRedo reports that saved work can no longer be published. A new attempt has to repeat it.
var errRedo = errors.New("the work has to be done again")

// PublishBranch publishes the saved work of the last attempt whose push failed. It does nothing if the branch has the
// work already.
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

// hopeless reports whether saved work can never be published: the branch has other commits, or the repository refuses
// the work under every name.
func hopeless(saved task.Unpublished, err error) bool {
	code := codeOf(err)
	return errors.Is(err, scm.ErrMoved) || err != nil && saved.Text != "" && final(code) && code != task.CodeForbidden
}

// promote moves the branch to commits that the repository holds under another ref, or pushes the saved bundle.
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
	if bundle.err != nil { // the bundle could not be read; it is not damaged
		return "", fmt.Errorf("read the kept work: %w", bundle.err)
	}
	if err != nil {
		return "", fmt.Errorf("push the kept work to %s: %w", work.Branch, err)
	}
	return head, nil
}
