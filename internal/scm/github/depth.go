package github

import (
	"context"
	"strconv"

	"github.com/omoi-dev/omoi/internal/task"
)

// pushDepth is how deep the history is fetched to push where no depth is configured: from the commits on which the work builds, and
// from the newest of its branch.
const pushDepth = 50

// reach settles how deep the history of a branch is fetched for a sandbox: all of it, or of a large repository the newest commits,
// back to base at least. A step for which GitHub does not say how large the repository is, or how long the branch, is tried again.
func (c *clone) reach(ctx context.Context, base, branch string) error {
	r, history := c.repo, c.repo.host.cfg.History
	if history.Whole == 0 {
		return nil
	}
	found, _, err := r.api.Repositories.Get(ctx, r.owner, r.name)
	if err != nil {
		return r.told(err, "look at the repository")
	}
	if !history.Cuts(int64(found.GetSize()) << 10) { // the server says KiB
		return nil
	}
	if c.depth = history.Depth; base == "" {
		return nil
	}
	compared, err := r.compare(ctx, base, branch)
	if task.CodeOf(err) == task.CodeConflict { // one of them is gone, or leads elsewhere: the fetch says which
		return nil
	}
	if err == nil {
		c.depth = history.Back(compared.GetAheadBy())
	}
	return err
}

// fetch brings refs of the server into the copy under other names, as deep as was settled.
func (c *clone) fetch(ctx context.Context, refspecs ...string) error {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head"}
	if c.depth > 0 {
		args = append(args, "--depth="+strconv.Itoa(c.depth))
	}
	_, err := c.git(ctx, append(append(args, c.repo.remote()), refspecs...)...)
	return c.repo.toldGit(ctx, err, "fetch")
}
