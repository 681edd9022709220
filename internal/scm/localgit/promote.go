package localgit

import (
	"context"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// Promote moves the branch to a commit that ref holds, which is one of rescued work. See [scm.Host].
func (h *Host) Promote(ctx context.Context, repo scm.Repo, branch, ref, commit string) (string, error) {
	r, err := h.open(ctx, repo)
	if err != nil {
		return "", err
	}
	if err := r.checkName(ctx, branch); err != nil {
		return "", err
	}
	if err := r.mustHold(ctx, ref, commit); err != nil {
		return "", err
	}
	return r.advance(ctx, r, branch, commit, func() error { return nil }) // they are there
}

// mustHold is [scm.ErrMoved] unless the commit is one of rescued work.
func (r *repository) mustHold(ctx context.Context, ref, commit string) error {
	gone := task.Errorf(task.CodeConflict, "Repository %s does not hold the saved work %s any more.", r.path, ref).WithCause(scm.ErrMoved)
	if !strings.HasPrefix(ref, rescueRefs) || !scm.IsCommit(commit) {
		return gone
	}
	found, err := r.resolve(ctx, commit)
	if err == nil && found == "" {
		err = gone
	}
	if err != nil {
		return err
	}
	holder, err := r.run(ctx, "for-each-ref", "--format=%(refname)", "--contains="+commit, ref)
	if err != nil {
		return fmt.Errorf("look for %s in %s: %w", commit, ref, err)
	}
	if holder != ref {
		return gone
	}
	return nil
}
