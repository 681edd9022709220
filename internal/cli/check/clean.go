package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/pause"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	cleanTime  = 3 * time.Minute // for ending what a check has made
	secondLook = 5 * time.Second // how long a second look at a sandbox that is gone is waited for
)

// clean ends every task of the check and proves that its sandboxes are gone.
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
		boxes, late, err := k.gone(ctx, id)
		if err != nil {
			return "", k.stays(ctx, id, err)
		}
		gone, unseen = gone+boxes, unseen+late
		if left, err = k.takeBack(ctx, t, left); err != nil {
			return "", err
		}
	}
	if len(k.tasks) == 0 {
		return "Nothing was made." + k.others, nil
	}
	said := fmt.Sprintf("Ended: %s; sandboxes verified gone: %d.", render.Count(len(k.tasks), "task"), gone-unseen)
	if unseen > 0 {
		said += fmt.Sprintf(" Gone, and looked for once more later: %d (omoi receipt %s).", unseen, render.Short(k.newest()))
	}
	return said + left + k.others, nil
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
		verdict: Fail, text: fmt.Sprintf("Task %s could not be ended, with its sandboxes verified gone: %v.", render.Short(id), err),
		next: "omoi cancel " + render.Short(id) + "; omoi receipt " + render.Short(id),
	}
}

// end cancels a task that has not ended, and waits until it has.
func (k *kit) end(ctx context.Context, id string) (client.Task, error) {
	asked := false
	for {
		t, err := k.API.Task(ctx, id)
		if err == nil && t.Status.Final() && t.PendingCommand == nil {
			return t, nil
		}
		if err == nil && !asked && !t.Status.Final() {
			_, _, err = k.API.Cancel(ctx, id, "its check is over")
			asked = err == nil || task.CodeOf(err) == task.CodeConflict // it ends by itself just now
		}
		if err != nil && !passing(err) {
			return t, err
		}
		if err := pause.For(ctx, lookEvery); err != nil {
			return t, err
		}
	}
}

// passing is true of errors after which asking again may help.
func passing(err error) bool {
	code := task.CodeOf(err)
	return code == task.CodeUnavailable || code == task.CodeConflict
}

// gone waits until every sandbox of a task is gone, and a while for the second look at it: some providers want that
// minutes later, and the server does it by itself.
func (k *kit) gone(ctx context.Context, id string) (boxes, unseen int, err error) {
	var since time.Time
	for {
		page, err := k.API.Sandboxes(ctx, client.SandboxFilter{TaskID: id, Limit: 100})
		if err != nil && !passing(err) {
			return 0, 0, err
		}
		if err == nil {
			there, unverified := standing(page.Items)
			if there == 0 && since.IsZero() {
				since = time.Now()
			}
			if there == 0 && (unverified == 0 || time.Since(since) > secondLook) {
				return len(page.Items), unverified, nil
			}
		}
		if err := pause.For(ctx, lookEvery); err != nil {
			return 0, 0, errors.Join(err, errors.New("a sandbox is still there"))
		}
	}
}

// standing counts what is not gone, and what is gone and not verified. An external sandbox is no machine of ours.
func standing(boxes []client.Sandbox) (there, unverified int) {
	for _, b := range boxes {
		switch {
		case b.Provider == task.ProviderExternal || b.VerifiedAt != nil:
		case b.GoneAt == nil:
			there++
		default:
			unverified++
		}
	}
	return there, unverified
}
