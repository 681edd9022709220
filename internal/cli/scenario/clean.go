package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	cleanTime  = 3 * time.Minute // timeout of the cleanup
	verifyTime = 5 * time.Second // time that a check waits for the verification of a deletion
)

// clean cancels all tasks of the scenario and verifies that their sandboxes are deleted.
func (k *kit) clean(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cleanTime, fmt.Errorf("timeout of %s", cleanTime))
	defer cancel()
	var gone, unseen int
	var left string
	for _, id := range k.tasks {
		t, err := k.end(ctx, id)
		if err != nil {
			return "", k.cleanupError(ctx, id, err)
		}
		boxes, late, err := k.gone(ctx, id, verifyTime)
		if err != nil {
			return "", k.cleanupError(ctx, id, err)
		}
		gone, unseen = gone+len(boxes), unseen+late
		if left, err = k.removeBranch(ctx, t, left); err != nil {
			return "", err
		}
	}
	if len(k.tasks) == 0 {
		return "No task was created.", nil
	}
	said := fmt.Sprintf("Ended: %s; sandboxes verified deleted: %d.", task.Count(len(k.tasks), "task"), gone-unseen)
	if unseen > 0 {
		said += fmt.Sprintf(" Deleted, and to be verified later: %d (omoi receipt %s).", unseen, render.Short(k.newest()))
	}
	return said + left, nil
}

// removeBranch removes the branch and the pull request in the checks' own repository. In another repository they stay;
// the returned text says so.
func (k *kit) removeBranch(ctx context.Context, t client.Task, left string) (string, error) {
	if k.repo == nil || t.Branch == nil || t.Repo == "" {
		return left, nil
	}
	if k.repo.own {
		return left, k.repo.forget(ctx, t)
	}
	return left + fmt.Sprintf(" The branch %s stays in %s; remove it there (git push --delete), and its pull request closes.", *t.Branch, t.Repo), nil
}

// cleanupError returns the error of a task that clean could not end.
func (k *kit) cleanupError(ctx context.Context, id string, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return &stopError{
		verdict: Fail, text: fmt.Sprintf("Cleanup of task %s and its sandboxes failed: %v.", render.Short(id), err),
		next: "omoi cancel " + render.Short(id) + "; omoi receipt " + render.Short(id),
	}
}

// end cancels a task that has not ended, and waits until it has.
func (k *kit) end(ctx context.Context, id string) (t client.Task, err error) {
	asked := false
	err = waitUntil(ctx, func() (bool, error) {
		t, err = k.API.Task(ctx, id)
		switch {
		case err != nil || t.Status.Final() && t.PendingCommand == nil:
			return err == nil, err
		case !asked && !t.Status.Final():
			_, _, err = k.API.Cancel(ctx, id, "its check is over")
			asked = err == nil || task.CodeOf(err) == task.CodeConflict // conflict: the task ends by itself
		}
		return false, err
	})
	return t, err
}

// gone waits until all sandboxes of a task are deleted, then at most patience until the deletions are verified. unseen
// counts deletions that are not verified yet: some providers need minutes, and the server verifies later by itself.
func (k *kit) gone(ctx context.Context, id string, patience time.Duration) (boxes []client.Sandbox, unseen int, err error) {
	var since time.Time
	err = waitUntil(ctx, func() (bool, error) {
		page, err := k.API.Sandboxes(ctx, client.SandboxFilter{TaskID: id, Limit: 100})
		if err != nil {
			return false, err
		}
		boxes = page.Items
		var there int
		if there, unseen = undeleted(boxes); there > 0 {
			return false, nil
		}
		if since.IsZero() {
			since = time.Now()
		}
		return unseen == 0 || time.Since(since) > patience, nil
	})
	return boxes, unseen, err
}

// undeleted counts existing sandboxes and deleted ones without verification. External sandboxes are not counted: omoi
// does not create them.
func undeleted(boxes []client.Sandbox) (there, unverified int) {
	for _, b := range boxes {
		switch {
		case !b.Machine() || b.VerifiedAt != nil:
		case b.GoneAt == nil:
			there++
		default:
			unverified++
		}
	}
	return there, unverified
}
