package github

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
)

// measure asks the server which mirror the repository has, and how deep its history is to be fetched: by the repository's id,
// since a name may come to be another's, and by what it weighs. Where the server does not say it, git will say why.
func (c *clone) measure(ctx context.Context) {
	r, cfg := c.repo, c.repo.host.cfg
	if c.measured || cfg.Mirrors == nil && cfg.History.Whole == 0 {
		return
	}
	c.measured = true
	found, _, err := r.api.Repositories.Get(ctx, r.owner, r.name)
	if err != nil || found.GetID() == 0 {
		return
	}
	c.key = fmt.Sprintf("%s-%d", digest(r.host.Web()), found.GetID())
	if cfg.History.Cuts(int64(found.GetSize()) << 10) { // the server says KiB
		c.key += "-newest"
		c.depth = cfg.History.Depth
	}
}

// reach has the history fetched back to base, a commit of the branch.
func (c *clone) reach(ctx context.Context, base, branch string) {
	if c.measure(ctx); c.depth == 0 || base == "" {
		return
	}
	if found, err := c.repo.compare(ctx, base, branch); err == nil { // else the fetch says why
		c.depth = c.repo.host.cfg.History.Back(found.GetAheadBy())
	}
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
