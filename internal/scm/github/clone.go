package github

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/gitproc"
	"github.com/omoi-dev/omoi/internal/scm/tempdir"
	"github.com/omoi-dev/omoi/internal/task"
)

// clone is a temporary copy of the needed part of a repository. Package localgit works in it.
type clone struct {
	repo   *repository
	folder string
	dir    string
	depth  int // commits of history to fetch; 0: all
}

// clone creates an empty copy. The caller removes it.
func (r *repository) clone(ctx context.Context) (*clone, error) {
	folder, err := r.host.cfg.Scratch.Make("omoi-github-")
	if err != nil {
		return nil, task.Errorf(task.CodeUnavailable, "Cannot create a temporary folder for a copy of %s.", r.full()).WithCause(err)
	}
	c := &clone{repo: r, folder: folder, dir: filepath.Join(folder, "copy.git"), depth: cmp.Or(r.host.cfg.History.Depth, pushDepth)}
	if _, err := c.git(ctx, "init", "--quiet", "--bare", "--template="); err != nil {
		c.remove()
		return nil, fmt.Errorf("make a copy of %s: %w", r.full(), err)
	}
	return c, nil
}

func (c *clone) remove() { _ = os.RemoveAll(c.folder) }

// remoteRefs returns the refs of the server that match, and their commits.
func (c *clone) remoteRefs(ctx context.Context, refs ...string) (map[string]string, error) {
	out, err := c.git(ctx, append([]string{"ls-remote", "--quiet", c.repo.remote()}, refs...)...)
	if err != nil {
		return nil, c.repo.toldGit(ctx, err, "list the branches")
	}
	found := map[string]string{}
	for line := range strings.Lines(out) {
		commit, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		found[ref] = commit
	}
	return found, nil
}

// fill fetches the refs that match pattern, and the commits needs that the work of a sandbox builds on. fill returns
// the matching refs and their commits on the server.
func (c *clone) fill(ctx context.Context, pattern string, needs []string) (map[string]string, error) {
	found, err := c.remoteRefs(ctx, pattern)
	if err != nil {
		return nil, err
	}
	specs := scm.Wants(needs)
	for ref := range found {
		specs = append(specs, "+"+ref+":"+ref)
	}
	if len(specs) == 0 {
		return found, nil
	}
	return found, c.fetch(ctx, specs...)
}

// Bundle writes the branch as a Git bundle. For a large repository the bundle has the newest history only, back to base
// at least. An unknown branch is [task.CodeInvalid].
func (h *Host) Bundle(ctx context.Context, repo scm.Repo, branch, base string, w io.Writer) error {
	return h.withCopy(ctx, repo, func(c *clone) error {
		c.depth = 0
		if err := c.reach(ctx, base, branch); err != nil {
			return err
		}
		found, err := c.fill(ctx, headsRefs+branch, nil)
		if err == nil && found[headsRefs+branch] == "" {
			err = task.Invalid("branch", "Repository %s no longer has the branch %q. Next: omoi retry, which creates it again", c.repo.full(), branch)
		}
		if err != nil {
			return err
		}
		return h.local.BundleCopy(ctx, scm.Repo(c.dir), branch, w)
	})
}

// withCopy opens repo, calls use with a new copy, and removes the copy.
func (h *Host) withCopy(ctx context.Context, repo scm.Repo, use func(*clone) error) error {
	r, err := h.open(ctx, repo)
	if err != nil {
		return err
	}
	c, err := r.clone(ctx)
	if err != nil {
		return err
	}
	defer c.remove()
	return use(c)
}

// Pack writes commits with all their files and their newest history as a Git pack. See [scm.Host].
func (h *Host) Pack(ctx context.Context, repo scm.Repo, commits []string, most int64, w io.Writer) error {
	return h.withCopy(ctx, repo, func(c *clone) error {
		over, err := tempdir.Limit(ctx, c.folder, most, func(ctx context.Context) error { return c.fetch(ctx, scm.Wants(commits)...) })
		switch {
		case over:
			return scm.ErrTooLarge
		case err != nil:
			return lacksCommit(err)
		}
		return h.local.PackCopy(ctx, scm.Repo(c.dir), w)
	})
}

// lacksCommit marks the error of a fetch if the server does not have the commit.
func lacksCommit(err error) error {
	if e, ok := errors.AsType[*gitproc.Error](err); ok && strings.Contains(e.Stderr, "not our ref") {
		return fmt.Errorf("%w: %w", scm.ErrNoCommit, err)
	}
	return err
}

// Push fast-forwards the branch on GitHub to that of a bundle, and returns its head. [task.CodeConflict]: another user
// moved the branch, or a rule rejects the push. [task.CodeInvalid]: the bundle is damaged.
func (h *Host) Push(ctx context.Context, repo scm.Repo, branch string, bundle io.Reader) (head string, err error) {
	needs, bundle := needsOf(bundle)
	err = h.withCopy(ctx, repo, func(c *clone) error {
		found, err := c.fill(ctx, headsRefs+branch, needs)
		if err != nil {
			return err
		}
		head, err = h.local.Push(ctx, scm.Repo(c.dir), branch, bundle)
		if err == nil && head != found[headsRefs+branch] {
			err = c.pushBranch(ctx, branch, head)
		}
		if task.CodeOf(err) == task.CodeConflict || errors.Is(err, errDiverged) {
			return c.repo.diverged(branch, err)
		}
		return err
	})
	return head, err
}

// push sends refs of the copy to the server.
func (c *clone) push(ctx context.Context, refspecs ...string) error {
	_, err := c.git(ctx, append([]string{"push", "--quiet", c.repo.remote()}, refspecs...)...)
	return c.repo.toldGit(ctx, err, "push")
}

// pushBranch pushes the branch and its ref below [seenRefs]. If the push is not a fast-forward, pushBranch compares the
// branch with head: git repeats a request whose answer was lost, and the first one may have succeeded.
func (c *clone) pushBranch(ctx context.Context, branch, head string) error {
	err := c.push(ctx, headsRefs+branch+":"+headsRefs+branch, "+"+headsRefs+branch+":"+seenRefs+branch)
	if !errors.Is(err, errDiverged) {
		return err
	}
	if found, lerr := c.remoteRefs(ctx, headsRefs+branch); lerr != nil || found[headsRefs+branch] == head {
		return lerr
	}
	return err
}

// diverged returns cause if the server gave its own reason, else an error that names the push of another user.
func (r *repository) diverged(branch string, cause error) error {
	if errors.Is(cause, errRejected) {
		return cause
	}
	return task.Errorf(task.CodeConflict, "Branch %s of %s has commits that the agent does not have: another user pushed to it. Next: see %s",
		branch, r.full(), r.page("commits/"+branch)).WithCause(errors.Join(scm.ErrMoved, cause))
}

// Rescue stores refs/omoi/rescue of a bundle, or its branch if it has no such ref, as refs/omoi/rescue/<name>. If other
// work has that name, Rescue adds a number to it.
func (h *Host) Rescue(ctx context.Context, repo scm.Repo, name string, bundle io.Reader) (ref string, err error) {
	needs, bundle := needsOf(bundle)
	err = h.withCopy(ctx, repo, func(c *clone) error {
		if _, err := c.fill(ctx, rescueRefs+name+"*", needs); err != nil { // includes earlier rescued work of the name
			return err
		}
		if ref, err = h.local.Rescue(ctx, scm.Repo(c.dir), name, bundle); err != nil {
			return err
		}
		return c.push(ctx, ref+":"+ref)
	})
	return ref, err
}

// pushDepth is the default number of commits that a push fetches, counted from the commits that the work builds on and
// from the head of the branch.
const pushDepth = 50

// reach sets the depth of the fetch for a sandbox: the whole history, or for a large repository the newest commits,
// back to base at least. If GitHub does not answer the size or the length of the branch, reach returns the error, and
// the caller retries.
func (c *clone) reach(ctx context.Context, base, branch string) error {
	r, history := c.repo, c.repo.host.cfg.History
	if history.Whole == 0 {
		return nil
	}
	found, _, err := r.api.Repositories.Get(ctx, r.owner, r.name)
	if err != nil {
		return r.told(err, "look at the repository")
	}
	if !history.Cuts(int64(found.GetSize()) << 10) { // GetSize returns KiB
		return nil
	}
	if c.depth = history.Depth; base == "" {
		return nil
	}
	compared, err := r.compare(ctx, base, branch)
	if task.CodeOf(err) == task.CodeConflict { // the fetch reports which of the two is missing
		return nil
	}
	if err == nil {
		c.depth = history.Back(compared.GetAheadBy())
	}
	return err
}

// fetch copies refs of the server, with c.depth commits of history.
func (c *clone) fetch(ctx context.Context, refspecs ...string) error {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head"}
	if c.depth > 0 {
		args = append(args, "--depth="+strconv.Itoa(c.depth))
	}
	_, err := c.git(ctx, append(append(args, c.repo.remote()), refspecs...)...)
	return c.repo.toldGit(ctx, err, "fetch")
}

const (
	maxHeader = 64 << 10 // bytes of a bundle that are searched for its header
	maxNeeds  = 50       // maximum number of prerequisite commits of a bundle; omoi's own bundles have few
)

// needsOf returns the prerequisite commits in the header of a bundle, and a reader of the whole bundle. A bundle with
// more than maxNeeds prerequisites returns none.
func needsOf(bundle io.Reader) ([]string, io.Reader) {
	in := bufio.NewReaderSize(bundle, maxHeader)
	header, _ := in.Peek(maxHeader) // a read error returns again where the bundle is used
	var needs []string
	for line := range strings.Lines(string(header)) {
		id, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if line == "\n" || len(needs) > maxNeeds {
			break
		}
		if id, ok := strings.CutPrefix(id, "-"); ok && scm.IsCommit(id) {
			needs = append(needs, id)
		}
	}
	if len(needs) > maxNeeds {
		needs = nil
	}
	return needs, in
}
