package localgit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/gitproc"
	"github.com/omoi-dev/omoi/internal/scm/tempdir"
)

// packDepth is the default number of commits of history in a pack.
const packDepth = 50

// Pack writes commits with all their files and their newest history as a Git pack. See [scm.Host].
func (h *Host) Pack(ctx context.Context, repo scm.Repo, commits []string, most int64, w io.Writer) error {
	r, err := h.open(ctx, repo)
	if err != nil {
		return err
	}
	q, err := h.throwAway(ctx, r)
	if err != nil {
		return err
	}
	defer q.remove()
	over, err := tempdir.Limit(ctx, q.folder, most, func(ctx context.Context) error {
		return q.takeCommits(ctx, r, commits, cmp.Or(h.cfg.History.Depth, packDepth))
	})
	switch {
	case over:
		return scm.ErrTooLarge
	case err != nil:
		return err
	}
	return q.packAll(ctx, w)
}

// PackCopy writes all that a copy made by omoi has as a Git pack.
func (h *Host) PackCopy(ctx context.Context, repo scm.Repo, w io.Writer) error {
	r, err := h.open(ctx, repo)
	if err != nil {
		return err
	}
	return r.packAll(ctx, w)
}

// takeCommits fetches commits into a temporary copy, as take does a branch.
func (q *throwAway) takeCommits(ctx context.Context, from *repository, commits []string, depth int) error {
	args := []string{
		"-c", "fetch.fsckObjects=false",
		"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--depth=" + strconv.Itoa(depth),
		"--upload-pack=" + scm.Quoted(from.git) + " -c safe.directory=* -c uploadpack.hideRefs=!refs -c uploadpack.allowAnySHA1InWant=true upload-pack", from.dir,
	}
	_, err := q.run(ctx, append(args, scm.Wants(commits)...)...)
	if failed, ok := errors.AsType[*gitproc.Error](err); ok && strings.Contains(failed.Stderr, "not our ref") {
		return fmt.Errorf("%w: %w", scm.ErrNoCommit, err)
	}
	if err != nil {
		return fmt.Errorf("fetch commits of %s: %w", from.path, err)
	}
	return nil
}

// packAll writes everything that refs reach, as far as the repository has it.
func (r *repository) packAll(ctx context.Context, w io.Writer) error {
	if err := r.pipe(ctx, stdio{out: w}, "pack-objects", "--all", "--stdout", "--quiet", "--threads=1"); err != nil {
		return fmt.Errorf("pack the commits of %s: %w", r.path, err)
	}
	return nil
}
