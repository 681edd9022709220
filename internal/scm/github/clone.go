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
	"github.com/omoi-dev/omoi/internal/task"
)

// clone is a throw-away copy of one branch, in which package localgit works.
type clone struct {
	repo   *repository
	folder string
	dir    string
	depth  int // of the history that is fetched; 0: all of it
}

// clone makes an empty copy.
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

// remoteRefs answers which of the refs the server has, and at what commit.
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

// fill brings the refs of a pattern into the copy, and the commits that those of a sandbox build on. It returns the refs and where the
// server has them.
func (c *clone) fill(ctx context.Context, pattern string, needs []string) (map[string]string, error) {
	found, err := c.remoteRefs(ctx, pattern)
	if err != nil {
		return nil, err
	}
	var specs []string
	for n, id := range needs { // refs hold them in the copy
		specs = append(specs, "+"+id+":refs/omoi/needs/"+strconv.Itoa(n))
	}
	for ref := range found {
		specs = append(specs, "+"+ref+":"+ref)
	}
	if len(specs) == 0 {
		return found, nil
	}
	return found, c.fetch(ctx, specs...)
}

// Bundle writes the branch, of a large repository with its newest history only, back to base at least. An unknown branch is
// [task.CodeInvalid].
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

// withCopy opens repo and lends use a copy of it.
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

// Push brings the branch of a bundle to GitHub, fast-forward only. [task.CodeConflict]: somebody else moved the
// branch, or its rules refuse the push; [task.CodeInvalid]: the bundle is damaged.
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

// pushBranch pushes and, where git was told that somebody else was faster, looks whether that was ourselves: an
// answer that is lost makes git send the same once more.
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

// diverged keeps the server's own reason where it gave one.
func (r *repository) diverged(branch string, cause error) error {
	if errors.Is(cause, errRejected) {
		return cause
	}
	return task.Errorf(task.CodeConflict, "Branch %s of %s has commits that the agent does not have: another user pushed to it. Next: see %s",
		branch, r.full(), r.page("commits/"+branch)).WithCause(errors.Join(scm.ErrMoved, cause))
}

// Rescue keeps refs/omoi/rescue of a bundle, or the branch of one that has none, as refs/omoi/rescue/<name>, under a
// further name where other work has that one.
func (h *Host) Rescue(ctx context.Context, repo scm.Repo, name string, bundle io.Reader) (ref string, err error) {
	needs, bundle := needsOf(bundle)
	err = h.withCopy(ctx, repo, func(c *clone) error {
		if _, err := c.fill(ctx, rescueRefs+name+"*", needs); err != nil { // with what was rescued under the name before
			return err
		}
		if ref, err = h.local.Rescue(ctx, scm.Repo(c.dir), name, bundle); err != nil {
			return err
		}
		return c.push(ctx, ref+":"+ref)
	})
	return ref, err
}

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

const (
	maxHeader = 64 << 10 // of a bundle, as far as it is looked at
	maxNeeds  = 50       // commits that a bundle may build on; omoi's own build on few
)

// needsOf answers the commits that a bundle says it builds on, and the bundle as it was.
func needsOf(bundle io.Reader) ([]string, io.Reader) {
	in := bufio.NewReaderSize(bundle, maxHeader)
	header, _ := in.Peek(maxHeader) // what cannot be read fails where it is used
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
