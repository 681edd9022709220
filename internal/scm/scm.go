// Package scm says what omoi asks of a place that hosts git repositories. Hosts live
// in the folders below.
package scm

import (
	"context"
	"errors"
	"io"
	"regexp"
)

// Repo names a repository: owner/name, or the absolute path of a local one.
type Repo string

var commitID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// IsCommit reports whether text is the whole id of a commit: what else names one is a sandbox's word.
func IsCommit(text string) bool { return commitID.MatchString(text) }

// Branch is a branch and the commit from which it began.
type Branch struct {
	Name string
	Base string // commit that the task started from
	Head string
}

// BranchRequest asks for the branch of a task.
type BranchRequest struct {
	Repo       Repo
	Key        string // of the task, for example APP-12; empty: the branch is called after the ticket
	TicketID   string
	Title      string
	TicketType string // feature, bug, refactor, docs, test, chore, release
	Priority   string // CRITICAL, HIGH, MEDIUM, LOW
	// TaskID owns the branch; asking again for the same task answers the same branch.
	TaskID string
	// Known is the branch that the task has already; it is gone on with, made again if it vanished.
	Known string
	From  string // base branch; empty: the default branch
}

// History says how much of a repository's history goes into a sandbox. The zero value is all of it.
type History struct {
	// Whole is what a repository may weigh of which all history goes in, in bytes; 0: whatever it weighs.
	Whole int64
	// Depth is how many commits deep the history goes in of one that weighs more.
	Depth int
}

// Cuts reports whether of a repository of that weight only the newest history goes in.
func (h History) Cuts(bytes int64) bool { return h.Whole > 0 && bytes > h.Whole }

// Back is how deep the history goes in of a branch with so many commits since its base, so that the base is there.
func (h History) Back(ahead int) int { return max(h.Depth, ahead+1) }

// PullRequest is a request to merge a branch, whatever the host calls it.
type PullRequest struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	Head   string `json:"head"` // branch
	Base   string `json:"base"` // branch
	State  string `json:"state"`
}

// ErrMoved is of rescued work that does not fit its branch any more: only new work could.
var ErrMoved = errors.New("the branch has moved")

// ErrNoCredential is of a repository on which nothing can be asked, since nobody has a credential for it.
var ErrNoCredential = errors.New("no credential configured")

// Host is a place that hosts repositories. Every method first looks, then acts: repeated
// calls and lost answers make no second branch and no second pull request.
type Host interface {
	// Check says whether the repository can be worked on: [task.CodeInvalid] with the next step if not.
	Check(ctx context.Context, repo Repo) error
	EnsureBranch(ctx context.Context, req BranchRequest) (Branch, error)
	// Bundle writes the branch as a git bundle, with the history that an agent needs: all of it, or of a large repository
	// the newest, back to base at least; then refs below spec.CutRefs name the commits whose parents are left out.
	Bundle(ctx context.Context, repo Repo, branch, base string, w io.Writer) error
	// Push brings the branch of a bundle to the repository, fast-forward only; a diverged
	// branch is [task.CodeConflict]. It answers the commit at which the branch stands then.
	Push(ctx context.Context, repo Repo, branch string, bundle io.Reader) (head string, err error)
	// Rescue brings refs/omoi/rescue of a bundle, or the branch of one that has none, to
	// refs/omoi/rescue/<name> of the repository; name is of letters, digits, dot and hyphen, with one slash at most.
	Rescue(ctx context.Context, repo Repo, name string, bundle io.Reader) (ref string, err error)
	// Promote moves the branch to a commit that was rescued, which ref holds, fast-forward only. [ErrMoved]: it is not one of ref,
	// or the branch has other commits by now. It answers the commit at which the branch stands then.
	Promote(ctx context.Context, repo Repo, branch, ref, commit string) (head string, err error)
	// Ahead counts the commits that the branch has over base, which is a branch or a commit; empty is the default branch.
	Ahead(ctx context.Context, repo Repo, base, branch string) (int, error)
	EnsurePull(ctx context.Context, repo Repo, pull PullRequest) (PullRequest, error)
	// RemoveEmptyBranch removes the branch that the repository records for a task, if its head is still the commit from which it
	// began. One that is checked out is [task.CodeConflict].
	RemoveEmptyBranch(ctx context.Context, repo Repo, taskID string) error
	// RemoveRefs removes refs/omoi/tasks and refs/omoi/rescue of a task, and refs/omoi/heads of its branch where no other task
	// has that branch.
	RemoveRefs(ctx context.Context, repo Repo, taskID string) error
	// Diff writes base...branch as a unified diff.
	Diff(ctx context.Context, repo Repo, base, branch string, w io.Writer) error
}
