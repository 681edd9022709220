package salvage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
)

// rescue creates the commit of the work tree, else a patch.
func (c *collector) rescue(ctx context.Context, before string) {
	id, err := c.commitTree(ctx)
	if err != nil {
		c.note("Cannot create the rescue commit: %s", err)
		c.patch(ctx, before)
		return
	}
	c.res.Rescue = id
}

// commitTree creates the commit. The same work tree gives the same commit, because its date is that of the newest file
// or of the head.
func (c *collector) commitTree(ctx context.Context) (string, error) {
	args := []string{"commit-tree", c.snap.Tree, "-m", "Uncommitted work, saved before the sandbox ended"}
	first := cmp.Or(c.head, c.base(ctx))
	for n, parent := range slices.Concat([]string{first}, c.unheld(ctx), c.more) {
		if parent != "" && (n == 0 || parent != first) {
			args = append(args, "-p", parent)
		}
	}
	date := strconv.FormatInt(c.date(ctx).Unix(), 10) + " +0000"
	git := c.git
	name, email := cmp.Or(strings.TrimSpace(c.repo.AuthorName), "omoi"), cmp.Or(strings.TrimSpace(c.repo.AuthorEmail), "omoi@localhost")
	git.Env = append(git.Env,
		"GIT_AUTHOR_NAME="+name, "GIT_AUTHOR_EMAIL="+email, "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME="+name, "GIT_COMMITTER_EMAIL="+email, "GIT_COMMITTER_DATE="+date)
	return git.Run(ctx, args...)
}

// unheld returns the branch if the agent has left it: the rescue ref must contain its commits too.
func (c *collector) unheld(ctx context.Context) []string {
	if c.res.Commits == 0 || c.head == "" || c.ancestor(ctx, c.branch, c.head) {
		return nil
	}
	return []string{c.branch}
}

func (c *collector) date(ctx context.Context) time.Time {
	date := c.snap.Newest
	if c.head != "" {
		if text, err := c.git.Run(ctx, "log", "-1", "--format=%ct", c.head); err == nil {
			if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && time.Unix(seconds, 0).After(date) {
				date = time.Unix(seconds, 0)
			}
		}
	}
	if date.Unix() < 0 {
		return time.Unix(0, 0)
	}
	return date
}

// patch writes the uncommitted changes in the format of git apply, including binary files.
func (c *collector) patch(ctx context.Context, before string) {
	if c.res.Files == 0 {
		return
	}
	path := c.out(agentconfig.OutPatch)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err == nil {
		err = c.git.Stream(ctx, nil, f, "diff-tree", "-r", "-p", "-M", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", before, c.snap.Tree)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		_ = os.Remove(path)
		c.note("Cannot create the patch: %s", err)
		return
	}
	c.res.Patch = path
}

// bundle writes branch and rescue commit. The history up to the base is omitted, because omoi has it. Without the base,
// the commits at which the history is cut are omitted. If that fails, bundle packs the whole history.
func (c *collector) bundle(ctx context.Context) {
	refs := c.refs(ctx)
	if len(refs) == 0 {
		return
	}
	path := c.out(agentconfig.OutBundle)
	without := c.cuts()
	if base := c.base(ctx); base != "" {
		without = []string{"^" + base}
	}
	err := c.writeBundle(ctx, path, refs, without)
	if err != nil && len(without) > 0 {
		err = c.writeBundle(ctx, path, refs, nil)
	}
	if err != nil {
		_ = os.Remove(path)
		c.note("Cannot create the bundle: %s", err)
		if c.res.Rescue != "" {
			c.res.Rescue = ""
			c.patch(ctx, c.tree(ctx))
		}
		return
	}
	c.res.Bundle = path
}

// refs creates the refs of the bundle in the shadow.
func (c *collector) refs(ctx context.Context) []string {
	var refs []string
	add := func(name, id string) {
		// Left by a killed process; no other process uses this repository.
		_ = os.Remove(filepath.Join(c.git.GitDir, filepath.FromSlash(name)+".lock"))
		if _, err := c.git.Run(ctx, "update-ref", name, id); err != nil {
			c.note("Cannot create the ref %s: %s", name, err)
			return
		}
		refs = append(refs, name)
	}
	if c.res.Commits > 0 && c.repo.Branch != "" {
		add("refs/heads/"+c.repo.Branch, c.branch)
	}
	if c.res.Rescue != "" {
		add(RescueRef, c.res.Rescue)
	}
	return refs
}

func (c *collector) writeBundle(ctx context.Context, path string, refs, without []string) error {
	half := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".half")
	for _, left := range []string{half, half + ".lock"} { // left by a killed process
		_ = os.Remove(left)
	}
	args := append([]string{"bundle", "create", "--quiet", half}, refs...)
	if _, err := c.git.Run(ctx, append(args, without...)...); err != nil {
		return err
	}
	if err := os.Rename(half, path); err != nil {
		return fmt.Errorf("rename bundle: %w", err)
	}
	return nil
}
