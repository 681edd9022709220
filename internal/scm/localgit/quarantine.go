package localgit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/scm/gitproc"
	"github.com/omoi-dev/omoi/internal/task"
)

// incoming is the ref in the quarantine for the content of a bundle.
const incoming = "refs/omoi/incoming"

// throwAway is a temporary repository, removed after its use.
type throwAway struct {
	*repository

	folder string
}

// throwAway creates an empty temporary repository with the owner and the object format of r.
func (h *Host) throwAway(ctx context.Context, r *repository) (*throwAway, error) {
	folder, err := h.cfg.Scratch.Make("omoi-git-")
	if err != nil {
		return nil, task.Errorf(task.CodeUnavailable, "Cannot create a temporary folder for a copy of %s.", r.path).WithCause(err)
	}
	dir := filepath.Join(folder, "q.git")
	q := &throwAway{folder: folder, repository: &repository{git: r.git, path: folder, dir: dir, objects: filepath.Join(dir, "objects"), format: r.format, owner: r.owner}}
	if err := q.begin(ctx); err != nil {
		q.remove()
		return nil, fmt.Errorf("copy %s: %w", r.path, err)
	}
	return q, nil
}

func (q *throwAway) begin(ctx context.Context) error {
	if err := q.give(q.folder); err != nil {
		return err
	}
	_, err := q.run(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+q.format)
	return err
}

func (q *throwAway) remove() { _ = os.RemoveAll(q.folder) }

// quarantined opens a bundle in a temporary repository that borrows the objects of r, and passes that repository and
// the commit at ref to use. Nothing of the bundle is in r before it is checked.
func (h *Host) quarantined(
	ctx context.Context, r *repository, ref string, bundle io.Reader, use func(q *throwAway, commit string) (string, error),
) (string, error) {
	q, err := h.throwAway(ctx, r)
	if err != nil {
		return "", err
	}
	defer q.remove()
	if err := q.fill(ctx, r); err != nil {
		return "", fmt.Errorf("create a quarantine for %s: %w", r.path, err)
	}
	commit, err := q.open(ctx, ref, bundle, h.cfg.MaxBundle)
	if err != nil {
		return "", err
	}
	return use(q, commit)
}

// fill makes the objects of r available, and copies where their history is cut.
func (q *throwAway) fill(ctx context.Context, r *repository) error {
	if err := q.cutLike(r); err != nil {
		return err
	}
	alternates := filepath.Join(q.dir, "objects", "info", "alternates")
	if err := errors.Join(os.MkdirAll(filepath.Dir(alternates), 0o750), os.WriteFile(alternates, []byte(gitcmd.Alternate(r.objects)), 0o644)); err != nil { //nolint:gosec // G306: a path, read by the owner
		return err
	}
	return q.borrow(ctx, r)
}

// cutLike copies git's list of cut commits from a copy that omoi made. A user's repository has all its history, see
// [Host.Check], and its files may be links to files that only omoi can read.
func (q *throwAway) cutLike(r *repository) error {
	if r.owner != nil {
		return nil
	}
	cut, err := os.ReadFile(r.shallow())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.WriteFile(q.shallow(), cut, 0o600) //nolint:gosec // G703: the folder is ours
	}
	return err
}

// borrow writes the refs of r into the quarantine, since git accepts a bundle's prerequisites only if a ref reaches
// them.
func (q *throwAway) borrow(ctx context.Context, r *repository) error {
	out, err := r.run(ctx, "for-each-ref", "--format=create refs/have/%(refname) %(objectname)", "refs/heads/", "refs/omoi/")
	if err != nil || out == "" {
		return err
	}
	return q.update(ctx, out)
}

// open stores at most limit bytes of the bundle, verifies it, and fetches its ref to [incoming]. It returns the commit.
func (q *throwAway) open(ctx context.Context, ref string, bundle io.Reader, limit int64) (string, error) {
	file := filepath.Join(q.folder, "in.bundle")
	if err := store(file, bundle, limit); err != nil {
		return "", err
	}
	if err := q.give(file); err != nil {
		return "", err
	}
	ref, err := q.verify(ctx, file, ref)
	if err != nil {
		return "", err
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", file, "+" + ref + ":" + incoming}
	if _, err := q.run(ctx, args...); err != nil {
		return "", unusable(err)
	}
	commit, err := q.resolve(ctx, incoming)
	if err == nil && commit == "" {
		return "", task.Errorf(task.CodeInvalid, "The sandbox sent %s, which is not a commit.", ref)
	}
	return commit, err
}

func store(file string, bundle io.Reader, limit int64) (err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("store the bundle: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	n, err := io.Copy(f, io.LimitReader(bundle, limit+1))
	if err != nil {
		return fmt.Errorf("store the bundle: %w", err)
	}
	if n > limit {
		return task.Errorf(task.CodeInvalid, "The work exceeds the limit of %d bytes.", limit)
	}
	return nil
}

// verify checks that the file is a bundle with ref that builds on existing commits. It returns the ref to use: the
// branch, if there is no rescue commit.
func (q *throwAway) verify(ctx context.Context, file, ref string) (string, error) {
	if _, err := q.run(ctx, "bundle", "verify", "--quiet", file); err != nil {
		return "", unusable(err)
	}
	heads, err := q.run(ctx, "bundle", "list-heads", file)
	if err != nil {
		return "", unusable(err)
	}
	branch := ""
	for line := range strings.Lines(heads) {
		_, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if name == ref {
			return ref, nil
		}
		if plainBranch.MatchString(name) {
			branch = name
		}
	}
	if ref == rescueRef && branch != "" {
		return branch, nil
	}
	return "", task.Errorf(task.CodeNotFound, "The bundle does not hold %s.", ref)
}

// plainBranch matches a branch that is safe in a refspec. The names in a bundle come from the sandbox.
var plainBranch = regexp.MustCompile(`^refs/heads/[A-Za-z0-9/._-]+$`)

// unusable tells a bad bundle from a git command that was ended early.
func unusable(err error) error {
	if cutShort(err) && !refused(err) {
		return fmt.Errorf("open the bundle: %w", err)
	}
	return task.Errorf(task.CodeInvalid, "The bundle from the sandbox is damaged or does not match the repository.").WithCause(err)
}

// refused reports whether git's own check refused an object. git may quote the object, so no other text of its output
// counts.
func refused(err error) bool {
	failed, ok := errors.AsType[*gitproc.Error](err)
	return ok && strings.Contains(failed.Stderr, "fsck error")
}

// release copies the checked commit into r without a ref, so that no lock is in its way. git checks each new object. If
// one fails, none is copied; any other failure is not the sandbox's.
func (q *throwAway) release(ctx context.Context, r *repository) error {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance", q.dir, incoming}
	_, err := r.run(ctx, args...)
	switch {
	case err == nil:
		return nil
	case refused(err), cutShort(err):
		return unusable(err)
	}
	return task.Errorf(task.CodeUnavailable, "The work could not be stored in %s.", r.path).WithCause(err)
}
