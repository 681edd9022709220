package localgit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/scm"
)

// Bundle writes the branch as a bundle. For a large repository it holds the newest history only, back to base at least.
// An unknown branch is [task.CodeInvalid].
func (h *Host) Bundle(ctx context.Context, repo scm.Repo, branch, base string, w io.Writer) error {
	r, err := h.open(ctx, repo)
	if err != nil {
		return err
	}
	if _, err := r.mustExist(ctx, branch); err != nil {
		return err
	}
	if err := r.mustBeWhole(ctx); err != nil {
		return err
	}
	if bytes, err := h.weigh(ctx, r); err != nil || !h.cfg.History.Cuts(bytes) {
		return errors.Join(err, r.bundle(ctx, w, headsRefs+branch))
	}
	newest, err := h.throwAway(ctx, r)
	if err != nil {
		return err
	}
	defer newest.remove()
	if err := newest.take(ctx, r, branch, h.cfg.History.Back(r.ahead(ctx, base, branch))); err != nil {
		return err
	}
	return newest.bundleCut(ctx, branch, w)
}

// BundleCopy writes all that a copy made by omoi has of the branch, and where its history is cut.
func (h *Host) BundleCopy(ctx context.Context, repo scm.Repo, branch string, w io.Writer) error {
	r, err := h.open(ctx, repo)
	if err != nil {
		return err
	}
	return r.bundleCut(ctx, branch, w)
}

// bundle writes refs with all objects that they need.
func (r *repository) bundle(ctx context.Context, w io.Writer, refs ...string) error {
	if err := r.pipe(ctx, stdio{out: w}, append([]string{"bundle", "create", "--quiet", "-"}, refs...)...); err != nil {
		return fmt.Errorf("bundle %s of %s: %w", refs[0], r.path, err)
	}
	return nil
}

// bundleCut also writes where the history of a temporary copy is cut: the commits of the branch without parents there.
// A root commit may be among them.
func (r *repository) bundleCut(ctx context.Context, branch string, w io.Writer) error {
	refs := []string{headsRefs + branch}
	if _, err := os.Lstat(r.shallow()); err == nil { // without the file nothing is cut
		out, err := r.run(ctx, "rev-list", "--max-parents=0", headsRefs+branch)
		if err != nil {
			return fmt.Errorf("find where the history of %s is cut: %w", branch, err)
		}
		if err := r.nameCuts(ctx, strings.Fields(out)); err != nil {
			return err
		}
		refs = append(refs, "--glob="+agentconfig.CutRefs+"*")
	}
	return r.bundle(ctx, w, refs...)
}

// nameCuts creates refs for commits, since a bundle names its content by refs only.
func (r *repository) nameCuts(ctx context.Context, commits []string) error {
	var named []string
	for _, commit := range commits {
		named = append(named, "update "+agentconfig.CutRefs+commit+" "+commit)
	}
	return r.update(ctx, strings.Join(named, "\n"))
}

// shallow returns the path of git's list of commits at which the history is cut. The file exists only if it is.
func (r *repository) shallow() string { return filepath.Join(r.dir, "shallow") }

// take fetches the newest commits of a branch into a temporary copy, without git's checks of old objects, which are not
// new to their owner.
func (q *throwAway) take(ctx context.Context, from *repository, branch string, depth int) error {
	ref := headsRefs + branch
	_, err := q.run(ctx, "-c", "fetch.fsckObjects=false",
		"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--depth="+strconv.Itoa(depth),
		"--upload-pack="+scm.Quoted(from.git)+" -c safe.directory=* -c uploadpack.hideRefs=!refs upload-pack", from.dir, ref+":"+ref)
	if err != nil {
		return fmt.Errorf("fetch the newest commits of %s of %s: %w", branch, from.path, err)
	}
	return nil
}

// weigh returns the size of a repository in bytes; 0 if history is never cut.
func (h *Host) weigh(ctx context.Context, r *repository) (int64, error) {
	if h.cfg.History.Whole == 0 {
		return 0, nil
	}
	out, err := r.run(ctx, "count-objects", "-v")
	if err != nil {
		return 0, fmt.Errorf("measure the size of %s: %w", r.path, err)
	}
	var kib int64
	for line := range strings.Lines(out) {
		if name, size, _ := strings.Cut(strings.TrimSpace(line), ": "); name == "size" || name == "size-pack" {
			n, _ := strconv.ParseInt(size, 10, 64)
			kib += n
		}
	}
	return kib << 10, nil
}

// ahead counts the commits of the branch since base; 0 if unknown.
func (r *repository) ahead(ctx context.Context, base, branch string) int {
	if !scm.IsCommit(base) {
		return 0
	}
	out, err := r.run(ctx, "rev-list", "--count", headsRefs+branch, "^"+base)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(out)
	return n
}
