package github

import (
	"context"

	"github.com/omoi-dev/omoi/internal/scm/gitproc"
)

// conflicts tries a merge in a copy that has no history: the three trees that it takes are fetched, and of the files those that
// git has to look into.
func (r *repository) conflicts(ctx context.Context, s standing) (bool, error) {
	c, err := r.clone(ctx)
	if err != nil {
		return false, err
	}
	defer c.remove()
	if err := c.fetchTrees(ctx, s.base, s.ours, s.theirs); err != nil {
		return false, err
	}
	base, err := c.root(ctx, s.base)
	if err != nil {
		return false, err
	}
	ours, err := c.root(ctx, s.ours, "-p", base)
	if err != nil {
		return false, err
	}
	theirs, err := c.root(ctx, s.theirs, "-p", base)
	if err != nil {
		return false, err
	}
	_, err = c.git(ctx, "merge-tree", "--write-tree", "--no-messages", theirs, ours)
	if gitproc.ExitCode(err) == 1 {
		return true, nil
	}
	return false, r.toldGit(ctx, err, "try the merge")
}

// fetchTrees fetches commits without their history and files. Git asks for files that it misses by itself.
func (c *clone) fetchTrees(ctx context.Context, commits ...string) error {
	if _, err := c.git(ctx, "config", "remote.origin.url", c.repo.remote()); err != nil {
		return err
	}
	_, err := c.git(ctx, append([]string{
		"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1", "--filter=blob:none", "origin",
	}, commits...)...)
	return c.repo.toldGit(ctx, err, "fetch")
}

// root makes a commit with the tree of another, and answers its id: git finds the base of a merge by the parents.
func (c *clone) root(ctx context.Context, commit string, parents ...string) (string, error) {
	return c.git(ctx, append([]string{"commit-tree", "-m", "a side of a merge", commit + "^{tree}"}, parents...)...)
}
