package github

import (
	"context"
	"strings"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// RemoveEmptyBranch removes the branch that the repository records for a task if it has no commit of its own. See [scm.Host].
func (h *Host) RemoveEmptyBranch(ctx context.Context, repo scm.Repo, taskID string) error {
	r, mine, err := h.recorded(ctx, repo, taskID)
	if err != nil {
		return err
	}
	for record, base := range mine {
		name := headsRefs + strings.TrimPrefix(record, tasksRefs+taskID+"/")
		head, err := r.ref(ctx, name)
		if err != nil {
			return err
		}
		if head == base && head != "" {
			if err := r.remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// RemoveRefs removes the refs below refs/omoi/ that are of one task alone. See [scm.Host].
func (h *Host) RemoveRefs(ctx context.Context, repo scm.Repo, taskID string) error {
	r, mine, err := h.recorded(ctx, repo, taskID)
	if err != nil {
		return err
	}
	gone, err := r.refs(ctx, rescueRefs+taskID+"/")
	if err != nil {
		return err
	}
	all, err := r.refs(ctx, tasksRefs)
	if err != nil {
		return err
	}
	for record := range mine {
		name := strings.TrimPrefix(record, tasksRefs+taskID+"/")
		if !shared(all, taskID, name) {
			gone[seenRefs+name] = ""
		}
	}
	for name := range gone {
		if err := r.remove(ctx, name); err != nil {
			return err
		}
	}
	for record := range mine { // last: a removal that is cut off finds the others by it
		if err := r.remove(ctx, record); err != nil {
			return err
		}
	}
	return nil
}

// shared reports whether another task has a record of the branch too.
func shared(records map[string]string, taskID, branch string) bool {
	for record := range records {
		owner, name, _ := strings.Cut(strings.TrimPrefix(record, tasksRefs), "/")
		if owner != taskID && name == branch {
			return true
		}
	}
	return false
}

// recorded opens a repository and returns the refs that record a task's branch.
func (h *Host) recorded(ctx context.Context, repo scm.Repo, taskID string) (*repository, map[string]string, error) {
	if scm.RefSafe(taskID) != taskID || taskID == "" {
		return nil, nil, task.Invalid("task_id", "Task ID %q cannot own refs.", taskID)
	}
	r, err := h.open(ctx, repo)
	if err != nil {
		return nil, nil, err
	}
	mine, err := r.refs(ctx, tasksRefs+taskID+"/")
	return r, mine, err
}
