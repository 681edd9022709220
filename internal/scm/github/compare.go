package github

import (
	"context"
	"io"
	"net/http"

	gh "github.com/google/go-github/v66/github"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// compare answers how far head is from base, without the list of commits.
func (r *repository) compare(ctx context.Context, base, head string) (*gh.CommitsComparison, error) {
	found, _, err := r.api.Repositories.CompareCommits(ctx, r.owner, r.name, base, head, &gh.ListOptions{PerPage: 1})
	if statusOf(err) == http.StatusNotFound {
		return nil, task.Errorf(task.CodeConflict, "%s and %s of %s have no commit in common, or are gone.", base, head, r.full()).WithCause(err)
	}
	return found, r.told(err, "compare "+base+" with "+head)
}

// Ahead counts the commits that the branch has over base, which is a branch or a commit; empty is the default branch.
func (h *Host) Ahead(ctx context.Context, repo scm.Repo, base, branch string) (int, error) {
	r, err := h.open(ctx, repo)
	if err != nil {
		return 0, err
	}
	s, err := r.standing(ctx, base, branch)
	return s.Ahead, err
}

// Diff writes what branch changed since it left base, as a unified diff. Base is a branch or a commit; empty is
// the default branch.
func (h *Host) Diff(ctx context.Context, repo scm.Repo, base, branch string, w io.Writer) error {
	r, err := h.open(ctx, repo)
	if err != nil {
		return err
	}
	if _, err := r.mustExist(ctx, branch); err != nil {
		return err
	}
	if base == "" {
		from, err := r.base(ctx, "")
		if err != nil {
			return err
		}
		base = from.name
	}
	text, _, err := r.api.Repositories.CompareCommitsRaw(ctx, r.owner, r.name, base, branch, gh.RawOptions{Type: gh.Diff})
	if statusOf(err) == http.StatusNotAcceptable {
		return task.Errorf(task.CodeExhausted, "GitHub does not show a diff of that size. Next: look at %s", r.page("compare/"+base+"..."+branch)).WithCause(err)
	}
	if err != nil {
		return r.told(err, "compare "+base+" with "+branch)
	}
	_, err = io.WriteString(w, text)
	return err
}

// base is the branch of that name, or the commit; empty is the branch where new ones begin.
func (r *repository) base(ctx context.Context, name string) (point, error) {
	if scm.IsCommit(name) {
		return point{name, name}, nil
	}
	if name != "" {
		return r.mustExist(ctx, name)
	}
	return r.source(ctx, "")
}
