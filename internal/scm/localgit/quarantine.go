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

// incoming is the ref of the quarantine that holds what a bundle brought.
const incoming = "refs/omoi/incoming"

// throwAway is a repository of our own that is removed when it was used.
type throwAway struct {
	*repository

	folder string
}

// throwAway makes an empty one that belongs to the owner of r and has its kind of ids.
func (h *Host) throwAway(ctx context.Context, r *repository) (*throwAway, error) {
	folder, err := h.cfg.Scratch.Make("omoi-git-")
	if err != nil {
		return nil, task.Errorf(task.CodeUnavailable, "Cannot create a temporary folder for a copy of %s.", r.path).WithCause(err)
	}
	dir := filepath.Join(folder, "q.git")
	q := &throwAway{folder: folder, repository: &repository{git: r.git, path: folder, dir: dir, objects: filepath.Join(dir, "objects"), owner: r.owner}}
	if err := q.begin(ctx, r); err != nil {
		q.remove()
		return nil, fmt.Errorf("make a copy of %s: %w", r.path, err)
	}
	return q, nil
}

func (q *throwAway) begin(ctx context.Context, r *repository) error {
	if err := q.give(q.folder); err != nil {
		return err
	}
	format, err := r.run(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	_, err = q.run(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+format)
	return err
}

func (q *throwAway) remove() { _ = os.RemoveAll(q.folder) }

// quarantined opens a bundle in a throw-away repository that borrows the objects of r, so that nothing of it is in r before it
// is checked, and lends use that repository and the commit at ref.
func (h *Host) quarantined(
	ctx context.Context, r *repository, ref string, bundle io.Reader, use func(q *throwAway, commit string) (string, error),
) (string, error) {
	q, err := h.throwAway(ctx, r)
	if err != nil {
		return "", err
	}
	defer q.remove()
	if err := q.fill(ctx, r); err != nil {
		return "", fmt.Errorf("make a quarantine for %s: %w", r.path, err)
	}
	commit, err := q.open(ctx, ref, bundle, h.cfg.MaxBundle)
	if err != nil {
		return "", err
	}
	return use(q, commit)
}

// fill lends it the objects of r, and tells it where the history of those is cut.
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

// cutLike tells git where the history of a copy of ours is cut. Somebody else's repository, whose files may be links to what only
// we can read, has all of it: see [Host.Check].
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

// borrow writes the refs of r into the quarantine: git trusts a bundle's prerequisites only
// where a ref reaches them.
func (q *throwAway) borrow(ctx context.Context, r *repository) error {
	out, err := r.run(ctx, "for-each-ref", "--format=create refs/have/%(refname) %(objectname)", "refs/heads/", "refs/omoi/")
	if err != nil || out == "" {
		return err
	}
	return q.update(ctx, out)
}

// open stores the bundle, at most limit bytes, verifies it and brings ref of it to
// [incoming]. It answers the commit.
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

// verify checks that the file is a bundle that holds ref and builds on what we have. It
// answers the ref to take: work without a rescue commit is rescued by its branch.
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

// plainBranch is a branch that can stand in a refspec as it is: a bundle's names are the sandbox's.
var plainBranch = regexp.MustCompile(`^refs/heads/[A-Za-z0-9/._-]+$`)

// unusable tells a bad bundle from a git that was cut short.
func unusable(err error) error {
	if cutShort(err) && !refused(err) {
		return fmt.Errorf("open the bundle: %w", err)
	}
	return task.Errorf(task.CodeInvalid, "The bundle from the sandbox is damaged or does not match the repository.").WithCause(err)
}

// refused reports whether git's own check refused an object. Git quotes the object then, so that nothing else of what it printed
// counts: it may be the sandbox's words.
func refused(err error) bool {
	failed, ok := errors.AsType[*gitproc.Error](err)
	return ok && strings.Contains(failed.Stderr, "fsck error")
}

// release brings the checked commit into r, without a ref: no lock of anybody is in its way. Every new object passes git's own check;
// one that fails keeps all of them out, and no other failure is the sandbox's.
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
