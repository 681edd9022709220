package continuous

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

// history looks whether there is a commit on top of the one that the task began with, and answers the commit that is to be
// the task's branch: where that stands, or HEAD where it goes on from there, as the work is collected.
func (w Work) history(ctx context.Context, git gitcmd.Git, repo *agentconfig.Repo) (seen Work, tip string) {
	head, tip := git.Commit(ctx, "HEAD"), git.Commit(ctx, "refs/heads/"+repo.Branch)
	switch {
	case tip == "" || head == tip || head != "" && goesOn(ctx, git, tip, head):
		tip = head
	case head != "" && !goesOn(ctx, git, head, tip):
		w.aside = head
	}
	switch {
	case tip == "":
	case tip == repo.Base:
		w.beside, w.unmoved = beside(ctx, git, tip)
	case goesOn(ctx, git, repo.Base, tip):
		w.Committed = true
	default:
		w.base = repo.Base
	}
	return w, tip
}

// beside is a commit that another branch or a stash holds, and the branch does not; ok is false where they cannot be read.
func beside(ctx context.Context, git gitcmd.Git, tip string) (id string, ok bool) {
	id, err := git.Run(ctx, "rev-list", "--max-count=1", "--branches", "--glob=refs/stash*", "--not", tip)
	return id, err == nil
}

// goesOn reports whether a commit has another one among its ancestors. What cannot be known, as where the history between them is cut
// or somebody else has moved the branch, is taken for so: only what goes on from the branch is published.
func goesOn(ctx context.Context, git gitcmd.Git, from, id string) bool {
	_, err := git.Run(ctx, "merge-base", "--is-ancestor", from, id)
	if failed, ok := errors.AsType[*gitcmd.Error](err); !ok || failed.ExitCode != 1 {
		return true
	}
	firsts, _ := git.Run(ctx, "rev-list", "--max-parents=0", id, "^"+from)
	return slices.ContainsFunc(strings.Fields(firsts), func(first string) bool { return isCut(ctx, git, first) })
}

// isCut reports whether a commit has parents that git does not follow, as in a shallow clone.
func isCut(ctx context.Context, git gitcmd.Git, id string) bool {
	text, _ := git.Run(ctx, "cat-file", "commit", id)
	head, _, _ := strings.Cut(text, "\n\n")
	return strings.Contains(head, "\nparent ")
}
