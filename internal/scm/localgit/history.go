package localgit

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/spec"
	"github.com/omoi-dev/omoi/internal/scm"
)

// Bundle writes the branch, of a large repository with its newest history only, back to base at least. An unknown branch is
// [task.CodeInvalid].
func (h *Host) Bundle(ctx context.Context, repo scm.Repo, branch, base string, w io.Writer) error {
	r, err := h.open(ctx, repo)
	if err != nil {
		return err
	}
	if err := r.mustExist(ctx, branch); err != nil {
		return err
	}
	if !h.cfg.History.Cuts(r.weighs()) {
		return r.bundle(ctx, branch, w)
	}
	newest, err := h.throwAway(ctx, r)
	if err != nil {
		return err
	}
	defer newest.remove()
	if err := newest.take(ctx, r, branch, h.cfg.History.Back(r.ahead(ctx, base, branch))); err != nil {
		return err
	}
	return newest.bundle(ctx, branch, w)
}

// bundle writes all that there is of the branch, and where its history is cut.
func (r *repository) bundle(ctx context.Context, branch string, w io.Writer) error {
	args := []string{"bundle", "create", "--quiet", "-", headsRefs + branch}
	cut, err := r.nameCuts(ctx, branch)
	if cut {
		args = append(args, "--glob="+spec.CutRefs+"*")
	}
	if err == nil {
		err = r.pipe(ctx, stdio{out: w}, args...)
	}
	if err != nil {
		return fmt.Errorf("bundle %s of %s: %w", branch, r.path, err)
	}
	return nil
}

// nameCuts names the commits of a branch that have no parents here: a bundle says what it holds by refs only. A first commit
// may be among them, which nothing is cut from.
func (r *repository) nameCuts(ctx context.Context, branch string) (cut bool, err error) {
	if _, err := os.Lstat(r.shallow()); err != nil { // not there: nothing is cut
		return false, nil //nolint:nilerr // see above
	}
	out, err := r.run(ctx, "rev-list", "--max-parents=0", headsRefs+branch)
	if err != nil {
		return false, err
	}
	var named []string
	for commit := range strings.FieldsSeq(out) {
		named = append(named, "update "+spec.CutRefs+commit+" "+commit)
	}
	return true, r.update(ctx, strings.Join(named, "\n"))
}

// shallow is git's list of commits at which the history is cut; it is not there where none is.
func (r *repository) shallow() string { return filepath.Join(r.dir, "shallow") }

// take brings the newest commits of a branch of from into a throw-away copy.
func (q *throwAway) take(ctx context.Context, from *repository, branch string, depth int) error {
	ref := headsRefs + branch
	_, err := q.run(ctx, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--depth="+strconv.Itoa(depth),
		"--upload-pack="+quoted(from.git)+" -c safe.directory=* upload-pack", from.dir, ref+":"+ref)
	if err != nil {
		return fmt.Errorf("take the newest commits of %s of %s: %w", branch, from.path, err)
	}
	return nil
}

// quoted is text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// weighs adds up the repository's packs, in bytes.
func (r *repository) weighs() (bytes int64) {
	packs, _ := filepath.Glob(filepath.Join(r.objects, "pack", "*.pack")) // what cannot be seen weighs nothing
	for _, pack := range packs {
		if info, err := os.Stat(pack); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// ahead counts the commits of the branch since base; 0 where nobody knows.
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
