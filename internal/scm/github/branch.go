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

// claimTries is how often a name may be lost to another task of the same ticket.
const claimTries = 8

// EnsureBranch answers the branch of a task: the one that it has, made again if it vanished, or a new one
// from the base branch under a free name.
func (h *Host) EnsureBranch(ctx context.Context, req scm.BranchRequest) (scm.Branch, error) {
	if scm.RefSafe(req.TaskID) != req.TaskID || req.TaskID == "" {
		return scm.Branch{}, task.Invalid("task_id", "Task id %q cannot own a branch.", req.TaskID)
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
	mine, err := r.claim(ctx, req, from.commit)
	if err != nil {
		return scm.Branch{}, err
	}
	return r.restore(ctx, mine.name, mine.commit)
}

// goOn answers a branch that the task has had before, and where it left the base branch.
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

// restore answers a branch as it is; one that is not there is made where omoi last saw it, else at base.
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

// claim settles the name of a task's branch before the branch is made: the claim is a ref of its own, so
// that a lost answer is found again, and two tasks of one ticket never share a branch.
func (r *repository) claim(ctx context.Context, req scm.BranchRequest, base string) (point, error) {
	folder := tasksRefs + cmp.Or(scm.RefSafe(req.TicketID), req.TaskID) + "/"
	for range claimTries {
		claims, err := r.refs(ctx, folder)
		if err != nil {
			return point{}, err
		}
		mine, others := claimsOf(claims, folder, req.TaskID)
		if mine.name == "" {
			if mine.name, err = r.free(ctx, scm.BranchName(req), others); err != nil {
				return point{}, err
			}
			mine.commit = base
		}
		won, err := r.wins(ctx, folder, req.TaskID, mine)
		if won || err != nil {
			return mine, err
		}
	}
	return point{}, task.Errorf(task.CodeUnavailable, "No free branch name found in %s: too many tasks of the ticket start at once.", r.full())
}

// wins writes the claim and looks who else has claimed the name: of two that claim it at once at least one
// sees the other, and whoever sees another gives way.
func (r *repository) wins(ctx context.Context, folder, taskID string, mine point) (bool, error) {
	ref := folder + taskID + "/" + mine.name
	if _, err := r.create(ctx, ref, mine.commit); err != nil {
		return false, err
	}
	claims, err := r.refs(ctx, folder)
	if err != nil {
		return false, err
	}
	if _, others := claimsOf(claims, folder, taskID); slices.Contains(others, mine.name) {
		return false, r.remove(ctx, ref)
	}
	return true, nil
}

// claimsOf tells a task's claim from the names that others have claimed.
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

// free answers a name that no branch blocks. It looks at the branches that could, not at all that there are.
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
