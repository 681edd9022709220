package github

import (
	"context"
	"io"
	"net/http"

	gh "github.com/google/go-github/v66/github"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// compare compares head with base, without the list of commits. [task.CodeConflict]: the two have no common commit, or
// one of them does not exist.
func (r *repository) compare(ctx context.Context, base, head string) (*gh.CommitsComparison, error) {
	found, _, err := r.api.Repositories.CompareCommits(ctx, r.owner, r.name, base, head, &gh.ListOptions{PerPage: 1})
	if statusOf(err) == http.StatusNotFound {
		return nil, task.Errorf(task.CodeConflict, "%s and %s of %s have no common commit, or one of them does not exist.", base, head, r.full()).WithCause(err)
	}
	return found, r.told(err, "compare "+base+" with "+head)
}

// Ahead returns the number of commits of the branch that are not in base, which is a branch or a commit; empty means
// the default branch.
func (h *Host) Ahead(ctx context.Context, repo scm.Repo, base, branch string) (int, error) {
	r, err := h.open(ctx, repo)
	if err != nil {
		return 0, err
	}
	s, err := r.standing(ctx, base, branch)
	return s.Ahead, err
}

// Diff writes the changes of branch since its merge base with base as a unified diff. base is a branch or a commit;
// empty means the default branch.
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
		return task.Errorf(task.CodeExhausted, "GitHub does not return this diff: it is too large. Next: see %s", r.page("compare/"+base+"..."+branch)).WithCause(err)
	}
	if err != nil {
		return r.told(err, "compare "+base+" with "+branch)
	}
	_, err = io.WriteString(w, text)
	return err
}

// base returns the branch or the commit of that name; empty means the result of source.
func (r *repository) base(ctx context.Context, name string) (point, error) {
	if scm.IsCommit(name) {
		return point{name, name}, nil
	}
	if name != "" {
		return r.mustExist(ctx, name)
	}
	return r.source(ctx, "")
}
