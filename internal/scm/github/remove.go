package github

import (
	"context"
	"strings"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// RemoveEmptyBranch removes the branch that the repository records for a task if it has no commit of its own. See [scm.Host].
func (h *Host) RemoveEmptyBranch(ctx context.Context, repo scm.Repo, taskID string) error {
	r, all, err := h.recorded(ctx, repo, taskID)
	if err != nil {
		return err
	}
	for record, base := range all {
		owner, branch := recordOf(record)
		if owner != taskID {
			continue
		}
		head, err := r.ref(ctx, headsRefs+branch)
		if err != nil {
			return err
		}
		if head == base && head != "" {
			if err := r.removeAt(ctx, headsRefs+branch, head); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeAt deletes a ref while it is at a commit; one that was moved meanwhile stays. The REST API deletes a ref wherever it is,
// git compares and deletes at once.
func (r *repository) removeAt(ctx context.Context, name, commit string) error {
	c, err := r.clone(ctx)
	if err != nil {
		return err
	}
	defer c.remove()
	_, err = c.git(ctx, "push", "--quiet", "--force-with-lease="+name+":"+commit, r.remote(), ":"+name)
	if err == nil {
		return nil
	}
	if head, lerr := r.ref(ctx, name); lerr == nil && head != commit {
		return nil
	}
	return r.toldGit(ctx, err, "delete "+name)
}

// RemoveRefs removes the refs below refs/omoi/ that are of one task alone. See [scm.Host].
func (h *Host) RemoveRefs(ctx context.Context, repo scm.Repo, taskID string) error {
	r, all, err := h.recorded(ctx, repo, taskID)
	if err != nil {
		return err
	}
	gone, err := r.refs(ctx, rescueRefs+taskID+"/")
	if err != nil {
		return err
	}
	mine := map[string]string{}
	for record, base := range all {
		owner, branch := recordOf(record)
		if owner != taskID {
			continue
		}
		if mine[record] = base; shared(all, taskID, branch) {
			continue
		}
		if gone[seenRefs+branch], err = r.ref(ctx, seenRefs+branch); err != nil {
			return err
		}
	}
	for _, some := range []map[string]string{gone, mine} { // the records last: a removal that is cut off finds the others by them
		if err := r.removeAll(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// removeAll deletes refs while they are at their commits; an empty commit is of a ref that is not there.
func (r *repository) removeAll(ctx context.Context, refs map[string]string) error {
	for name, commit := range refs {
		if commit == "" {
			continue
		}
		if err := r.removeAt(ctx, name, commit); err != nil {
			return err
		}
	}
	return nil
}

// recordOf returns the task and the branch of a record, refs/omoi/tasks/<ticket>/<task>/<branch>.
func recordOf(ref string) (taskID, branch string) {
	_, rest, _ := strings.Cut(strings.TrimPrefix(ref, tasksRefs), "/")
	taskID, branch, _ = strings.Cut(rest, "/")
	return taskID, branch
}

// shared reports whether another task has a record of the branch too.
func shared(records map[string]string, taskID, branch string) bool {
	for record := range records {
		if owner, name := recordOf(record); owner != taskID && name == branch {
			return true
		}
	}
	return false
}

// recorded opens a repository and returns the refs that record the branches of tasks.
func (h *Host) recorded(ctx context.Context, repo scm.Repo, taskID string) (*repository, map[string]string, error) {
	if scm.RefSafe(taskID) != taskID || taskID == "" {
		return nil, nil, task.Invalid("task_id", "Task ID %q cannot own refs.", taskID)
	}
	r, err := h.open(ctx, repo)
	if err != nil {
		return nil, nil, err
	}
	all, err := r.refs(ctx, tasksRefs)
	return r, all, err
}
