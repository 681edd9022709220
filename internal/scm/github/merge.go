package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	gh "github.com/google/go-github/v66/github"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// MergeRequest requests the merge of a pull request.
type MergeRequest struct {
	Number       int
	Ticket       string // appears in the title of the merge commit
	Method       string // merge, squash or rebase
	DeleteBranch bool
}

// Merged is the result of a merge.
type Merged struct {
	Commit   string
	Conflict bool   // the pull request has conflicts; nothing was changed
	Reason   string // reason of the conflict, or why the branch was not deleted
}

// Merge merges a pull request. A pull request that is already merged is a success, because the answer of an earlier
// call may be lost.
func (h *Host) Merge(ctx context.Context, repo scm.Repo, req MergeRequest) (Merged, error) {
	r, err := h.open(ctx, repo)
	if err != nil {
		return Merged{}, err
	}
	pull, err := r.pull(ctx, req.Number)
	if err != nil {
		return Merged{}, err
	}
	switch {
	case pull.GetMerged():
		return r.tidy(ctx, pull, req, pull.GetMergeCommitSHA()), nil
	case pull.GetState() != "open":
		return Merged{}, task.Errorf(task.CodeConflict, "Pull request #%d of %s is closed. Next: open it again at %s", req.Number, r.full(), pull.GetHTMLURL())
	case pull.Mergeable != nil && !pull.GetMergeable():
		return r.conflict(pull), nil
	}
	done, _, err := r.api.PullRequests.Merge(ctx, r.owner, r.name, req.Number, "", &gh.PullRequestOptions{
		CommitTitle: fmt.Sprintf("[%s] Merge PR #%d", req.Ticket, req.Number), MergeMethod: req.Method, SHA: pull.GetHead().GetSHA(),
	})
	if status := statusOf(err); status == http.StatusMethodNotAllowed || status == http.StatusConflict {
		return r.notMerged(ctx, pull, req, err)
	}
	if err != nil {
		return Merged{}, r.told(err, fmt.Sprintf("merge pull request #%d", req.Number))
	}
	return r.tidy(ctx, pull, req, done.GetSHA()), nil
}

func (r *repository) pull(ctx context.Context, number int) (*gh.PullRequest, error) {
	pull, _, err := r.api.PullRequests.Get(ctx, r.owner, r.name, number)
	if statusOf(err) == http.StatusNotFound {
		return nil, task.Errorf(task.CodeNotFound, "PR #%d not found in %s.", number, r.full()).WithCause(err)
	}
	return pull, r.told(err, fmt.Sprintf("look at pull request #%d", number))
}

func (r *repository) conflict(pull *gh.PullRequest) Merged {
	return Merged{Conflict: true, Reason: fmt.Sprintf("Pull request #%d of %s has conflicts with %s. Next: resolve them at %s",
		pull.GetNumber(), r.full(), pull.GetBase().GetRef(), pull.GetHTMLURL())}
}

// notMerged returns the reason why GitHub rejected a merge: conflicts or rules. The state before the merge may have
// been out of date, so notMerged reads the pull request again.
func (r *repository) notMerged(ctx context.Context, pull *gh.PullRequest, req MergeRequest, cause error) (Merged, error) {
	now, err := r.pull(ctx, pull.GetNumber())
	switch {
	case err != nil:
		return Merged{}, err
	case now.GetMerged(): // by another user, or by an earlier call whose answer was lost
		return r.tidy(ctx, now, req, now.GetMergeCommitSHA()), nil
	case now.GetHead().GetSHA() != pull.GetHead().GetSHA():
		return Merged{}, task.Errorf(task.CodeConflict, "Pull request #%d of %s changed during the merge. Next: review %s and merge again",
			pull.GetNumber(), r.full(), pull.GetHTMLURL()).WithCause(cause)
	case byRules(now, cause):
		return Merged{}, task.Errorf(task.CodeConflict, "GitHub does not merge pull request #%d of %s: %s. Next: look at %s",
			pull.GetNumber(), r.full(), says(cause), pull.GetHTMLURL()).WithCause(cause)
	}
	return r.conflict(now), nil
}

// byRules reports whether a rule rejected the merge, for example a missing review or a disabled merge method.
func byRules(pull *gh.PullRequest, cause error) bool {
	if statusOf(cause) == http.StatusConflict || pull.GetMergeableState() == "dirty" || pull.Mergeable != nil && !pull.GetMergeable() {
		return false
	}
	why := strings.ToLower(says(cause))
	return pull.GetMergeableState() == "blocked" || pull.GetDraft() || strings.Contains(why, "not allowed") ||
		strings.Contains(why, "review") || strings.Contains(why, "status check") || strings.Contains(why, "draft")
}

// tidy deletes the branch of a merged pull request, if the request says so and the branch is in this repository. A
// branch with newer commits stays.
func (r *repository) tidy(ctx context.Context, pull *gh.PullRequest, req MergeRequest, commit string) Merged {
	out, head := Merged{Commit: commit}, pull.GetHead()
	if !req.DeleteBranch || head.GetRef() == "" || head.GetRepo().GetFullName() != pull.GetBase().GetRepo().GetFullName() {
		return out
	}
	at, err := r.ref(ctx, headsRefs+head.GetRef())
	switch {
	case err == nil && at == head.GetSHA():
		err = r.remove(ctx, headsRefs+head.GetRef())
	case err == nil && at != "":
		err = task.Errorf(task.CodeConflict, "the branch has commits that were not merged.")
	}
	if err != nil {
		out.Reason = "The branch was not deleted: " + task.MessageOf(err)
	}
	return out
}

// Distance compares a branch with another.
type Distance struct {
	Ahead, Behind int
	Conflict      bool // GitHub reports conflicts for its open pull request
}

// standing compares branch with base, or with the default branch if base is empty, without conflicts.
func (r *repository) standing(ctx context.Context, base, branch string) (Distance, error) {
	if _, err := r.mustExist(ctx, branch); err != nil {
		return Distance{}, err
	}
	from, err := r.base(ctx, base)
	if err != nil {
		return Distance{}, err
	}
	found, err := r.compare(ctx, from.name, branch)
	return Distance{Ahead: found.GetAheadBy(), Behind: found.GetBehindBy()}, err
}

// Status compares a branch with the default branch, with conflicts.
func (h *Host) Status(ctx context.Context, repo scm.Repo, branch string) (Distance, error) {
	r, err := h.open(ctx, repo)
	if err != nil {
		return Distance{}, err
	}
	s, err := r.standing(ctx, "", branch)
	if err != nil || s.Ahead == 0 || s.Behind == 0 { // without commits on both sides there is no conflict
		return s, err
	}
	there, err := r.pullFor(ctx, branch, "")
	if err != nil || there.GetState() != "open" {
		return s, err
	}
	pull, err := r.pull(ctx, there.GetNumber())
	// null: GitHub is still computing.
	for tries := 0; err == nil && pull.Mergeable == nil && tries < 3 && wait.For(ctx, time.Second) == nil; tries++ {
		pull, err = r.pull(ctx, there.GetNumber())
	}
	s.Conflict = err == nil && pull.Mergeable != nil && !pull.GetMergeable()
	return s, err
}
