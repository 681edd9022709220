package github

import (
	"context"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v66/github"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// Promote fast-forwards the branch to a rescued commit that ref holds. The server has the commits already, so Promote
// fetches nothing. See [scm.Host].
func (h *Host) Promote(ctx context.Context, repo scm.Repo, branch, ref, commit string) (string, error) {
	r, err := h.open(ctx, repo)
	if err != nil {
		return "", err
	}
	if err := r.mustHold(ctx, ref, commit); err != nil {
		return "", err
	}
	head, done, err := r.stands(ctx, branch, commit)
	switch {
	case err != nil:
		return "", err
	case done: // an earlier call may have failed before see
		return head, r.see(ctx, branch, head)
	case head == "":
		err = r.begin(ctx, branch, commit)
	default:
		err = r.move(ctx, branch, commit)
	}
	if err != nil {
		return "", err
	}
	return commit, r.see(ctx, branch, commit)
}

// mustHold returns [scm.ErrMoved] unless ref is rescued work that contains the commit.
func (r *repository) mustHold(ctx context.Context, ref, commit string) error {
	gone := task.Errorf(task.CodeConflict, "Repository %s no longer has the saved work %s.", r.full(), ref).WithCause(scm.ErrMoved)
	if !strings.HasPrefix(ref, rescueRefs) || commit == "" {
		return gone
	}
	held, err := r.ref(ctx, ref)
	if err != nil || held == commit {
		return err
	}
	if held == "" {
		return gone
	}
	found, err := r.compare(ctx, commit, held)
	if task.CodeOf(err) == task.CodeConflict || err == nil && found.GetMergeBaseCommit().GetSHA() != commit {
		return gone
	}
	return err
}

// stands returns the head of the branch, and whether the branch contains the commit already. [scm.ErrMoved]: the branch
// has other commits.
func (r *repository) stands(ctx context.Context, branch, commit string) (head string, done bool, err error) {
	head, err = r.ref(ctx, headsRefs+branch)
	if err != nil || head == "" || head == commit {
		return head, head != "", err
	}
	found, err := r.compare(ctx, head, commit)
	switch {
	case task.CodeOf(err) == task.CodeConflict, err == nil && found.GetStatus() == "diverged":
		return "", false, r.diverged(branch, err)
	case err != nil:
		return "", false, err
	}
	return head, found.GetStatus() != "ahead", nil
}

// begin creates the branch again. If another user creates it at the same time, begin returns an error, and the next
// call starts from their branch.
func (r *repository) begin(ctx context.Context, branch, commit string) error {
	there, err := r.create(ctx, headsRefs+branch, commit)
	if err == nil && there != commit {
		err = task.Errorf(task.CodeUnavailable, "Cannot restore branch %s of %s: another user created it at the same time.", branch, r.full())
	}
	return err
}

// move fast-forwards the branch.
func (r *repository) move(ctx context.Context, branch, commit string) error {
	name := headsRefs + branch
	_, _, err := r.api.Git.UpdateRef(ctx, r.owner, r.name, &gh.Reference{Ref: &name, Object: &gh.GitObject{SHA: &commit}}, false)
	switch {
	case statusOf(err) != http.StatusUnprocessableEntity:
		return r.told(err, "move "+branch)
	case strings.Contains(says(err), "fast forward"):
		return r.diverged(branch, err)
	}
	return r.ruled(says(err)+".", err)
}

// see updates the ref below [seenRefs], from which EnsureBranch restores the branch.
func (r *repository) see(ctx context.Context, branch, commit string) error {
	name := seenRefs + branch
	there, err := r.create(ctx, name, commit)
	if err != nil || there == commit {
		return err
	}
	_, _, err = r.api.Git.UpdateRef(ctx, r.owner, r.name, &gh.Reference{Ref: &name, Object: &gh.GitObject{SHA: &commit}}, true)
	return r.told(err, "note where "+branch+" is")
}
