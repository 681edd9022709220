package localgit

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	rescueRef  = "refs/omoi/rescue"
	rescueRefs = rescueRef + "/"
	pushTries  = 5
)

// Push fast-forwards the branch to that of a bundle. A bundle without new commits changes nothing. [task.CodeConflict]:
// the branch diverged or is checked out. [task.CodeInvalid]: the bundle is damaged, too large, or holds objects that
// Git refuses.
func (h *Host) Push(ctx context.Context, repo scm.Repo, branch string, bundle io.Reader) (string, error) {
	r, err := h.open(ctx, repo)
	if err != nil {
		return "", err
	}
	if err := r.checkName(ctx, branch); err != nil {
		return "", err
	}
	return h.quarantined(ctx, r, headsRefs+branch, bundle, func(q *throwAway, commit string) (string, error) {
		return q.advance(ctx, r, branch, commit, func() error { return q.release(ctx, r) })
	})
}

// advance fast-forwards the branch of to by compare-and-swap, and repeats if the branch moved meanwhile. It compares
// the commits in r, and calls bring to copy them before the branch moves.
func (r *repository) advance(ctx context.Context, to *repository, branch, commit string, bring func() error) (string, error) {
	var err error
	for range pushTries {
		var head string
		if head, err = to.resolve(ctx, headsRefs+branch); err != nil {
			return "", err
		}
		done, ferr := r.forward(ctx, to, branch, head, commit)
		if ferr != nil || done {
			return head, ferr
		}
		if err = bring(); err != nil {
			return "", err
		}
		if err = to.swap(ctx, branch, commit, head); err == nil {
			return commit, nil
		}
		if cutShort(err) {
			return "", fmt.Errorf("move %s of %s: %w", branch, to.path, err)
		}
	}
	return "", task.Errorf(task.CodeUnavailable, "Branch %s of %s could not be moved: another git process may be running there, or a killed one left a lock.", branch, to.path).
		WithCause(err)
}

// Promote moves the branch to a commit of rescued work, which ref holds. See [scm.Host].
func (h *Host) Promote(ctx context.Context, repo scm.Repo, branch, ref, commit string) (string, error) {
	r, err := h.open(ctx, repo)
	if err != nil {
		return "", err
	}
	if err := r.checkName(ctx, branch); err != nil {
		return "", err
	}
	if err := r.mustHold(ctx, ref, commit); err != nil {
		return "", err
	}
	return r.advance(ctx, r, branch, commit, func() error { return nil }) // the repository has the commits
}

// mustHold returns [scm.ErrMoved] unless ref holds the commit.
func (r *repository) mustHold(ctx context.Context, ref, commit string) error {
	gone := task.Errorf(task.CodeConflict, "Repository %s no longer has the saved work %s.", r.path, ref).WithCause(scm.ErrMoved)
	if !strings.HasPrefix(ref, rescueRefs) || !scm.IsCommit(commit) {
		return gone
	}
	found, err := r.resolve(ctx, commit)
	if err == nil && found == "" {
		err = gone
	}
	if err != nil {
		return err
	}
	holder, err := r.run(ctx, "for-each-ref", "--format=%(refname)", "--contains="+commit, ref)
	if err != nil {
		return fmt.Errorf("find %s in %s: %w", commit, ref, err)
	}
	if holder != ref {
		return gone
	}
	return nil
}

// forward reports whether the branch has the commit already (done). It returns an error if the commit is not ahead of
// head.
func (r *repository) forward(ctx context.Context, to *repository, branch, head, commit string) (done bool, err error) {
	if head == "" {
		return false, nil
	}
	lacks, missing, err := r.apart(ctx, head, commit)
	switch {
	case err != nil || missing == 0:
		return err == nil, err
	case lacks > 0:
		return false, task.Errorf(task.CodeConflict, "Branch %s has commits that the agent does not have. Next: git -C %s log %s", branch, to.path, branch).
			WithCause(scm.ErrMoved)
	}
	return false, to.refuseCheckedOut(ctx, branch)
}

// refuseCheckedOut protects a user's working copy: if its branch moved, the new commits would look like local changes
// that undo them.
func (r *repository) refuseCheckedOut(ctx context.Context, branch string) error {
	out, err := r.run(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return fmt.Errorf("list the working copies of %s: %w", r.path, err)
	}
	var folder string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "worktree "); ok {
			folder = rest
		}
		if line == "branch "+headsRefs+branch {
			return task.Errorf(task.CodeConflict, "Branch %s is checked out in %s. Next: git -C %s switch --detach, then retry the task", branch, folder, folder).
				WithCause(scm.ErrCheckedOut)
		}
	}
	return nil
}

// apart counts the commits that only the history of one has, and those that only the history of other has.
func (r *repository) apart(ctx context.Context, one, other string) (onlyOne, onlyOther int, err error) {
	out, err := r.run(ctx, "rev-list", "--left-right", "--count", one+"..."+other)
	if err == nil {
		_, err = fmt.Sscan(out, &onlyOne, &onlyOther)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("compare %s with %s: %w", one, other, err)
	}
	return onlyOne, onlyOther, nil
}

// swap moves the branch from old, or creates it if old is empty, and records that omoi saw it at commit.
func (r *repository) swap(ctx context.Context, branch, commit, old string) error {
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	move := "update " + headsRefs + branch + " " + commit + " " + old
	if old == "" {
		move = "create " + headsRefs + branch + " " + commit
	}
	return r.change(ctx, move, "update "+seenRefs+branch+" "+commit)
}

// Rescue stores refs/omoi/rescue of a bundle, or else its branch, as refs/omoi/rescue/<name>. A later bundle with other
// work gets <name>-2 and so on, so that saved work is never replaced.
func (h *Host) Rescue(ctx context.Context, repo scm.Repo, name string, bundle io.Reader) (string, error) {
	if folder, leaf, below := strings.Cut(name, "/"); !safeID(folder) || below && !safeID(leaf) {
		return "", task.Invalid("name", "Invalid name of saved work %q.", name)
	}
	r, err := h.open(ctx, repo)
	if err != nil {
		return "", err
	}
	return h.quarantined(ctx, r, rescueRef, bundle, func(q *throwAway, commit string) (string, error) {
		unlock, err := r.lock(ctx)
		if err != nil {
			return "", err
		}
		defer unlock()
		return q.keep(ctx, r, name, commit)
	})
}

func (q *throwAway) keep(ctx context.Context, r *repository, name, commit string) (string, error) {
	ref := rescueRefs + name
	for n := 2; ; n++ {
		there, err := r.resolve(ctx, ref)
		switch {
		case err != nil:
			return "", err
		case there == commit:
			return ref, nil
		case there == "":
			if err := q.release(ctx, r); err != nil {
				return "", err
			}
			return ref, r.change(ctx, "create "+ref+" "+commit)
		}
		ref = rescueRefs + name + "-" + strconv.Itoa(n)
	}
}

// Ahead counts the commits of the branch that are neither in base nor older than the task. base is a branch or a
// commit; empty means the default branch.
func (h *Host) Ahead(ctx context.Context, repo scm.Repo, base, branch string) (int, error) {
	r, from, err := h.compare(ctx, repo, base, branch)
	if err != nil {
		return 0, err
	}
	begins, err := r.run(ctx, "for-each-ref", "--format=^%(objectname)", tasksRefs+"*/"+branch)
	if err != nil {
		return 0, fmt.Errorf("find the base of %s: %w", branch, err)
	}
	args := append([]string{"rev-list", "--count", headsRefs + branch}, append([]string{"^" + from}, strings.Fields(begins)...)...)
	out, err := r.run(ctx, args...)
	if err != nil {
		return 0, fmt.Errorf("count the commits of %s: %w", branch, err)
	}
	return strconv.Atoi(out)
}

// Diff writes the changes of branch since base as a unified diff. base is a branch or a commit; empty means the default
// branch.
func (h *Host) Diff(ctx context.Context, repo scm.Repo, base, branch string, w io.Writer) error {
	r, from, err := h.compare(ctx, repo, base, branch)
	if err != nil {
		return err
	}
	args := []string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", from + "..." + headsRefs + branch, "--"}
	if err := r.pipe(ctx, stdio{out: w}, args...); err != nil {
		return fmt.Errorf("compare %s with %s: %w", branch, base, err)
	}
	return nil
}

// compare opens a repository that has the branch, and returns the commit of base.
func (h *Host) compare(ctx context.Context, repo scm.Repo, base, branch string) (*repository, string, error) {
	r, err := h.open(ctx, repo)
	if err == nil {
		err = r.checkName(ctx, branch)
	}
	if err == nil && base == "" {
		base, err = r.defaultBranch(ctx)
	}
	if err != nil {
		return nil, "", err
	}
	found, err := r.resolveAll(ctx, headsRefs+branch, headsRefs+base, base)
	switch {
	case err != nil:
		return nil, "", err
	case found[0] == "":
		return nil, "", r.noBranch(branch)
	case found[1]+found[2] == "":
		return nil, "", task.Invalid("base", "Repository %s has neither a branch nor a commit %q.", r.path, base)
	}
	return r, cmp.Or(found[1], found[2]), nil
}
