package github

import (
	"context"
	"strings"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// RemoveEmptyBranch removes the branches that the repository records for a task, if they have no commits of their own.
// See [scm.Host].
func (h *Host) RemoveEmptyBranch(ctx context.Context, repo scm.Repo, taskID string) error {
	r, all, err := h.recorded(ctx, repo, taskID)
	if err != nil {
		return err
	}
	empty := map[string]string{}
	for record, base := range all {
		owner, branch := recordOf(record)
		if owner != taskID {
			continue
		}
		head, err := r.ref(ctx, headsRefs+branch)
		if err != nil {
			return err
		}
		if head == base {
			empty[headsRefs+branch] = head
		}
	}
	return r.removeAll(ctx, empty)
}

// RemoveRefs removes the refs below refs/omoi/ that belong to one task only. See [scm.Host].
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
		seen, err := r.ref(ctx, seenRefs+branch)
		if err != nil {
			return err
		}
		if seen != "" {
			gone[seenRefs+branch] = seen
		}
	}
	if err := r.removeAll(ctx, gone); err != nil {
		return err
	}
	return r.removeAll(ctx, mine) // records last: after an interrupted call, the next one finds the other refs by them
}

// removeAll deletes refs that still point to their commits; a ref that moved stays. removeAll uses git, which compares
// and deletes atomically. The REST API deletes a ref at any commit.
func (r *repository) removeAll(ctx context.Context, refs map[string]string) error {
	if len(refs) == 0 {
		return nil
	}
	c, err := r.clone(ctx)
	if err != nil {
		return err
	}
	defer c.remove()
	for name, commit := range refs {
		_, err := c.git(ctx, "push", "--quiet", "--force-with-lease="+name+":"+commit, r.remote(), ":"+name)
		if err == nil {
			continue
		}
		if head, lerr := r.ref(ctx, name); lerr != nil || head == commit {
			return r.toldGit(ctx, err, "delete "+name)
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
