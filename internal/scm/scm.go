// Package scm defines the interface of Git hosts. The folders below implement it.
package scm

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Repo names a repository: owner/name, or the absolute path of a local one.
type Repo string

var commitID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// IsCommit reports whether text is a whole commit ID. Sandboxes choose any other name of a commit.
func IsCommit(text string) bool { return commitID.MatchString(text) }

// Branch is a branch with its base commit.
type Branch struct {
	Name string
	Base string // commit at which the task started
	Head string
}

// BranchRequest requests the branch of a task.
type BranchRequest struct {
	Repo       Repo
	Key        string // key of the task, for example APP-12; empty: the branch is named after the ticket
	TicketID   string
	Title      string
	TicketType string // feature, bug, refactor, docs, test, chore, release
	Priority   string // CRITICAL, HIGH, MEDIUM, LOW
	// TaskID owns the branch. The same task always gets the same branch.
	TaskID string
	// Known is the task's existing branch, which is continued, and restored if it was deleted.
	Known string
	From  string // base branch; empty: the default branch
	At    string // commit at which a new branch starts; empty: the head of From
}

// History says how much history a sandbox gets. The zero value means all.
type History struct {
	// Whole is the maximum size in bytes of a repository whose whole history is copied; 0: no maximum.
	Whole int64
	// Depth is the number of commits that are copied of a larger repository.
	Depth int
}

// Cuts reports whether only the newest history of a repository of this size is copied.
func (h History) Cuts(bytes int64) bool { return h.Whole > 0 && bytes > h.Whole }

// Back returns the depth of the copied history of a branch with this number of commits since its base, so that the base
// is included.
func (h History) Back(ahead int) int { return max(h.Depth, ahead+1) }

// PullRequest is a pull request, or a merge request on other hosts.
type PullRequest struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	Head   string `json:"head"` // source branch
	Base   string `json:"base"` // target branch
	State  string `json:"state"`
}

// ErrMoved reports that rescued work no longer fits its branch, so that only new work can.
var ErrMoved = errors.New("the branch has moved")

// ErrCheckedOut reports that a user has checked out the branch, so that it must not move.
var ErrCheckedOut = errors.New("the branch is checked out")

// ErrNoCommit reports that a repository lacks a commit.
var ErrNoCommit = errors.New("the repository lacks the commit")

// ErrTooLarge reports that commits have too many bytes.
var ErrTooLarge = errors.New("the commits are too large")

// Wants returns refspecs that fetch commits, which may have no branch, and keep them by refs of a copy.
func Wants(commits []string) []string {
	specs := make([]string, 0, len(commits))
	for n, id := range commits {
		specs = append(specs, "+"+id+":refs/omoi/needs/"+strconv.Itoa(n))
	}
	return specs
}

// ErrNoCredential reports that no credential exists for a repository.
var ErrNoCredential = errors.New("no credential configured")

// BundleHead returns the commit of a branch from the beginning of a bundle; empty if the bundle does not name the branch there.
func BundleHead(bundle []byte, branch string) string {
	for line := range strings.Lines(string(bundle)) {
		id, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case line == "\n": // the pack follows
			return ""
		case ref == "refs/heads/"+branch && IsCommit(id):
			return id
		}
	}
	return ""
}

// Origin is where new work starts.
type Origin interface {
	// Check returns nil if omoi can use the repository, or [task.CodeInvalid] with the next step.
	Check(ctx context.Context, repo Repo) error
	// Head returns the commit at which a new branch starts: the head of from; empty means the default branch.
	Head(ctx context.Context, repo Repo, from string) (commit string, err error)
}

// Host is a Git host. Each method reads the state before it acts: a repeated call creates no second branch or pull
// request.
type Host interface {
	Origin
	// EnsureBranch returns the branch of a task, also with [ErrCheckedOut].
	EnsureBranch(ctx context.Context, req BranchRequest) (Branch, error)
	// Bundle writes the branch as a Git bundle with all its history, or for a large repository with the newest history,
	// back to base at least. In that case refs below spec.CutRefs name the commits without their parents.
	Bundle(ctx context.Context, repo Repo, branch, base string, w io.Writer) error
	// Push fast-forwards the branch to that of a bundle, and returns its head. A diverged branch is
	// [task.CodeConflict].
	Push(ctx context.Context, repo Repo, branch string, bundle io.Reader) (head string, err error)
	// Rescue stores refs/omoi/rescue of a bundle, or else its branch, as refs/omoi/rescue/<name> of the repository.
	// name has letters, digits, dots, hyphens and at most one slash.
	Rescue(ctx context.Context, repo Repo, name string, bundle io.Reader) (ref string, err error)
	// Promote fast-forwards the branch to a rescued commit that ref holds, and returns its head. [ErrMoved]: ref does
	// not hold the commit, or the branch has other commits by now.
	Promote(ctx context.Context, repo Repo, branch, ref, commit string) (head string, err error)
	// Ahead counts the commits of the branch that are not in base, which is a branch or a commit; empty means the
	// default branch.
	Ahead(ctx context.Context, repo Repo, base, branch string) (int, error)
	EnsurePull(ctx context.Context, repo Repo, pull PullRequest) (PullRequest, error)
	// RemoveEmptyBranch removes the recorded branch of a task if its head is still its base commit. A checked-out
	// branch is [task.CodeConflict].
	RemoveEmptyBranch(ctx context.Context, repo Repo, taskID string) error
	// RemoveRefs removes refs/omoi/tasks and refs/omoi/rescue of a task, and refs/omoi/heads of its branch if no other
	// task has that branch.
	RemoveRefs(ctx context.Context, repo Repo, taskID string) error
	// Pack writes commits with all their files and their newest history as a Git pack. [ErrNoCommit] if the repository lacks one,
	// [ErrTooLarge] if a copy of them has more than most bytes.
	Pack(ctx context.Context, repo Repo, commits []string, most int64, w io.Writer) error
	// Diff writes base...branch as a unified diff.
	Diff(ctx context.Context, repo Repo, base, branch string, w io.Writer) error
}
