package github

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// claimTries is the number of names that claim tries before it gives up.
const claimTries = 8

// Head returns the commit of a branch; empty means the default branch.
func (h *Host) Head(ctx context.Context, repo scm.Repo, from string) (string, error) {
	r, err := h.open(ctx, repo)
	if err != nil {
		return "", err
	}
	head, err := r.source(ctx, from)
	return head.commit, err
}

// EnsureBranch returns the branch of a task. An existing branch is restored if it was deleted. A new branch starts at
// the base branch, under a free name.
func (h *Host) EnsureBranch(ctx context.Context, req scm.BranchRequest) (scm.Branch, error) {
	if scm.RefSafe(req.TaskID) != req.TaskID || req.TaskID == "" {
		return scm.Branch{}, task.Invalid("task_id", "Task ID %q cannot own a branch.", req.TaskID)
	}
	r, err := h.open(ctx, req.Repo)
	if err != nil {
		return scm.Branch{}, err
	}
	from, err := r.source(ctx, req.From)
	if err != nil {
		return scm.Branch{}, err
	}
	if req.Known != "" {
		return r.goOn(ctx, req.Known, from)
	}
	if err := r.mustHave(ctx, req.At); err != nil {
		return scm.Branch{}, err
	}
	mine, err := r.claim(ctx, req, cmp.Or(req.At, from.commit))
	if err != nil {
		return scm.Branch{}, err
	}
	return r.restore(ctx, mine.name, mine.commit)
}

// mustHave returns [task.CodeConflict] if the repository lacks a commit at which a branch is to start.
func (r *repository) mustHave(ctx context.Context, commit string) error {
	if commit == "" {
		return nil
	}
	_, err := r.compare(ctx, commit, commit)
	if task.CodeOf(err) == task.CodeConflict {
		err = task.Errorf(task.CodeConflict, "Repository %s no longer has commit %s, at which the branch of the task starts. Next: create a task with omoi run",
			r.full(), commit).WithCause(err)
	}
	return err
}

// goOn returns an existing branch of the task, with the merge base as Base.
func (r *repository) goOn(ctx context.Context, name string, from point) (scm.Branch, error) {
	b, err := r.restore(ctx, name, from.commit)
	if err != nil || b.Head == from.commit {
		return b, err
	}
	compared, err := r.compare(ctx, from.commit, b.Head)
	if task.CodeOf(err) == task.CodeConflict {
		err = task.Errorf(task.CodeConflict, "Branch %s of %s has no commit in common with %s, so omoi cannot open a pull request. Next: "+
			"delete the branch, which omoi creates again at its last known commit, or push commits that continue from %s",
			name, r.full(), from.name, from.name).WithCause(err)
	}
	if err != nil {
		return b, err
	}
	b.Base = cmp.Or(compared.GetMergeBaseCommit().GetSHA(), from.commit)
	return b, nil
}

// restore returns a branch. If the branch does not exist, restore creates it at the commit of its ref below [seenRefs],
// else at base.
func (r *repository) restore(ctx context.Context, name, base string) (scm.Branch, error) {
	head, err := r.ref(ctx, headsRefs+name)
	if err != nil {
		return scm.Branch{}, err
	}
	if head == "" {
		seen, err := r.ref(ctx, seenRefs+name)
		if err != nil {
			return scm.Branch{}, err
		}
		if head, err = r.create(ctx, headsRefs+name, cmp.Or(seen, base)); err != nil {
			return scm.Branch{}, err
		}
	}
	return scm.Branch{Name: name, Base: base, Head: head}, nil
}

// claimFolders returns the ref folders in which tasks that may want the same name write their claims: the folder of the
// ticket, which older workers read too, and the folder of the key, which other installations use too.
func claimFolders(req scm.BranchRequest) []string {
	folders := []string{tasksRefs + cmp.Or(scm.RefSafe(req.TicketID), req.TaskID) + "/"}
	if req.Key != "" {
		folders = append(folders, tasksRefs+scm.RefSafe(req.Key)+"/")
	}
	return folders
}

// claim reserves the name of a task's branch before the branch exists. The claim is a ref, so a retry after a lost
// answer finds it, and two tasks with the same ticket or key get different names.
func (r *repository) claim(ctx context.Context, req scm.BranchRequest, base string) (point, error) {
	folders := claimFolders(req)
	for range claimTries {
		mine, others, err := r.claims(ctx, folders, req.TaskID)
		if err != nil {
			return point{}, err
		}
		if mine.name == "" {
			if mine.name, err = r.free(ctx, scm.BranchName(req), others); err != nil {
				return point{}, err
			}
			mine.commit = base
		}
		won, err := r.wins(ctx, folders, req.TaskID, mine)
		if won || err != nil {
			return mine, err
		}
	}
	return point{}, task.Errorf(task.CodeUnavailable, "No free branch name found in %s: too many tasks of the ticket start at once.", r.full())
}

// wins writes the claim, then reports whether no other task has claimed the name. Of two concurrent claims at least one
// sees the other, and a claim that sees another is removed.
func (r *repository) wins(ctx context.Context, folders []string, taskID string, mine point) (bool, error) {
	claim := taskID + "/" + mine.name
	for _, folder := range folders {
		if _, err := r.create(ctx, folder+claim, mine.commit); err != nil {
			return false, err
		}
	}
	_, others, err := r.claims(ctx, folders, taskID)
	if err != nil || !slices.Contains(others, mine.name) {
		return err == nil, err
	}
	for _, folder := range folders {
		if err := r.remove(ctx, folder+claim); err != nil {
			return false, err
		}
	}
	return false, nil
}

// claims returns a task's claim, from the first folder that has one, and the names that other tasks have claimed.
func (r *repository) claims(ctx context.Context, folders []string, taskID string) (mine point, others []string, err error) {
	for _, folder := range folders {
		refs, err := r.refs(ctx, folder)
		if err != nil {
			return point{}, nil, err
		}
		own, theirs := claimsOf(refs, folder, taskID)
		if mine.name == "" {
			mine = own
		}
		others = append(others, theirs...)
	}
	return mine, others, nil
}

// claimsOf returns the claim of a task and the names that other tasks have claimed, from the refs of one folder.
func claimsOf(claims map[string]string, folder, taskID string) (mine point, others []string) {
	for _, ref := range slices.Sorted(maps.Keys(claims)) {
		owner, name, _ := strings.Cut(strings.TrimPrefix(ref, folder), "/")
		if owner != taskID {
			others = append(others, name)
		} else if mine.name == "" {
			mine = point{name, claims[ref]}
		}
	}
	return mine, others
}

// free returns a name that no branch blocks. The request covers the branches with the same prefix only.
func (r *repository) free(ctx context.Context, name string, taken []string) (string, error) {
	prefix, rest, _ := strings.Cut(name, "/")
	for {
		commit, err := r.ref(ctx, headsRefs+prefix)
		if err != nil {
			return "", err
		}
		if commit == "" {
			break
		}
		taken = append(taken, prefix)
		prefix = "omoi-" + prefix
	}
	near, err := r.refs(ctx, headsRefs+prefix+"/"+rest)
	if err != nil {
		return "", err
	}
	for ref := range near {
		taken = append(taken, strings.TrimPrefix(ref, headsRefs))
	}
	return scm.FreeBranch(name, taken), nil
}
