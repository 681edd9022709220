package localgit

import (
	"context"
	"strings"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// RemoveEmptyBranch removes the recorded branch of a task if it has no commits of its own. See [scm.Host].
func (h *Host) RemoveEmptyBranch(ctx context.Context, repo scm.Repo, taskID string) error {
	return h.removing(ctx, repo, taskID, func(r *repository) error {
		name, base, err := r.owned(ctx, taskID)
		if err != nil || name == "" {
			return err
		}
		head, err := r.resolve(ctx, headsRefs+name)
		if err != nil || head == "" || head != base {
			return err
		}
		if err := r.refuseCheckedOut(ctx, name); err != nil {
			return err
		}
		return r.change(ctx, "delete "+headsRefs+name+" "+head)
	})
}

// RemoveRefs removes the refs below refs/omoi/ that belong to one task. See [scm.Host].
func (h *Host) RemoveRefs(ctx context.Context, repo scm.Repo, taskID string) error {
	return h.removing(ctx, repo, taskID, func(r *repository) error {
		name, _, err := r.owned(ctx, taskID)
		if err != nil {
			return err
		}
		owners, err := r.run(ctx, "for-each-ref", "--format=%(refname)", tasksRefs+"*/"+name)
		if err != nil {
			return err
		}
		prefixes := []string{tasksRefs + taskID + "/", rescueRefs + taskID + "/"}
		if name != "" && len(strings.Fields(owners)) == 1 {
			prefixes = append(prefixes, seenRefs+name)
		}
		found, err := r.run(ctx, append([]string{"for-each-ref", "--format=delete %(refname)"}, prefixes...)...)
		if err != nil || found == "" {
			return err
		}
		return r.change(ctx, strings.Split(found, "\n")...)
	})
}

// removing calls do with the repository's lock held.
func (h *Host) removing(ctx context.Context, repo scm.Repo, taskID string, do func(*repository) error) error {
	if !safeID(taskID) {
		return task.Invalid("task_id", "Task ID %q cannot own refs.", taskID)
	}
	r, err := h.open(ctx, repo)
	if err != nil {
		return err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return do(r)
}
