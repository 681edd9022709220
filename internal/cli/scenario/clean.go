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
	cleanTime  = 3 * time.Minute // for ending what a check has made
	secondLook = 5 * time.Second // how long a second look at a sandbox that is gone is waited for
)

// clean ends every task of the scenario and proves that its sandboxes are deleted.
func (k *kit) clean(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cleanTime, fmt.Errorf("not within %s", cleanTime))
	defer cancel()
	var gone, unseen int
	var left string
	for _, id := range k.tasks {
		t, err := k.end(ctx, id)
		if err != nil {
			return "", k.stays(ctx, id, err)
		}
		boxes, late, err := k.gone(ctx, id, secondLook)
		if err != nil {
			return "", k.stays(ctx, id, err)
		}
		gone, unseen = gone+len(boxes), unseen+late
		if left, err = k.takeBack(ctx, t, left); err != nil {
			return "", err
		}
	}
	if len(k.tasks) == 0 {
		return "Nothing was made.", nil
	}
	said := fmt.Sprintf("Ended: %s; sandboxes verified deleted: %d.", render.Count(len(k.tasks), "task"), gone-unseen)
	if unseen > 0 {
		said += fmt.Sprintf(" Deleted, and to be verified later: %d (omoi receipt %s).", unseen, render.Short(k.newest()))
	}
	return said + left, nil
}

// takeBack removes the branch and the pull request where that is ours to do, and else says what stays.
func (k *kit) takeBack(ctx context.Context, t client.Task, left string) (string, error) {
	if k.repo == nil || t.Branch == nil || t.Repo == "" {
		return left, nil
	}
	if k.repo.own {
		return left, k.repo.forget(ctx, t)
	}
	return left + fmt.Sprintf(" The branch %s stays in %s; remove it there (git push --delete), and its pull request closes.", *t.Branch, t.Repo), nil
}

// stays says what a check could not end.
func (k *kit) stays(ctx context.Context, id string, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return &stopError{
		verdict: Fail, text: fmt.Sprintf("Task %s could not be ended, with its sandboxes verified deleted: %v.", render.Short(id), err),
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
			asked = err == nil || task.CodeOf(err) == task.CodeConflict // it ends by itself just now
		}
		return false, err
	})
	return t, err
}

// gone waits until every sandbox of a task is deleted, and for so long until that is verified: some providers want minutes
// between the two, and the server verifies by itself.
func (k *kit) gone(ctx context.Context, id string, patience time.Duration) (boxes []client.Sandbox, unseen int, err error) {
	var since time.Time
	err = waitUntil(ctx, func() (bool, error) {
		page, err := k.API.Sandboxes(ctx, client.SandboxFilter{TaskID: id, Limit: 100})
		if err != nil {
			return false, err
		}
		boxes = page.Items
		var there int
		if there, unseen = standing(boxes); there > 0 {
			return false, nil
		}
		if since.IsZero() {
			since = time.Now()
		}
		return unseen == 0 || time.Since(since) > patience, nil
	})
	return boxes, unseen, err
}

// standing counts what is not gone, and what is gone and not verified. An external sandbox is no machine of ours.
func standing(boxes []client.Sandbox) (there, unverified int) {
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
