package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

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
