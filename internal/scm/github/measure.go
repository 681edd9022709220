package github

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/omoi-dev/omoi/internal/task"
)

// measure asks the server which mirror the repository has, and how deep its history is to be fetched: by the repository's id,
// since a name may come to be another's, and by what it weighs. No answer costs the mirror only, unless a depth hangs on it.
func (c *clone) measure(ctx context.Context) error {
	r, cfg := c.repo, c.repo.host.cfg
	if c.measured || cfg.Mirrors == nil && cfg.History.Whole == 0 {
		return nil
	}
	found, _, err := r.api.Repositories.Get(ctx, r.owner, r.name)
	if err != nil && cfg.History.Whole > 0 {
		return r.told(err, "look at the repository")
	}
	c.measured = true
	if err != nil || found.GetID() == 0 {
		return nil //nolint:nilerr // see above
	}
	c.key = fmt.Sprintf("%s-%d", digest(r.host.Web()), found.GetID())
	if cfg.History.Cuts(int64(found.GetSize()) << 10) { // the server says KiB
		c.key += "-newest"
		c.depth = cfg.History.Depth
	}
	return nil
}

// reach has the history fetched back to base, a commit of the branch.
func (c *clone) reach(ctx context.Context, base, branch string) error {
	if err := c.measure(ctx); err != nil || c.depth == 0 || base == "" {
		return err
	}
	found, err := c.repo.compare(ctx, base, branch)
	if task.CodeOf(err) == task.CodeConflict { // one of them is gone, or leads elsewhere: the fetch says which
		return nil
	}
	if err == nil {
		c.depth = c.repo.host.cfg.History.Back(found.GetAheadBy())
	}
	return err
}

// fetching are the arguments that fetch refs from the server.
func (c *clone) fetching(refspecs []string) []string {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head"}
	if c.depth > 0 {
		args = append(args, "--depth="+strconv.Itoa(c.depth))
	}
	return append(append(args, c.repo.remote()), refspecs...)
}

// shallow is where git notes at which commits the history of the copy is cut.
func (c *clone) shallow() string { return filepath.Join(c.dir, "shallow") }
