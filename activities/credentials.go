package activities

import (
	"context"

	"github.com/omoi-dev/omoi/internal/task"
)

// Credentials finds what the sandbox of a task is given to log in elsewhere, as variables. [task.CodeNotFound]
// says what is missing, and the next step.
type Credentials interface {
	ForTask(ctx context.Context, work task.Work) (map[string]string, error)
	// Give is ForTask, and notes the use.
	Give(ctx context.Context, work task.Work) (map[string]string, error)
}

// provided says before a sandbox is made whether its agent will have what it needs.
func (a *Activities) provided(ctx context.Context, taskID string) error {
	if a.deps.Credentials == nil {
		return nil
	}
	work, err := a.work(ctx, taskID)
	if err != nil {
		return err
	}
	_, err = a.deps.Credentials.ForTask(ctx, work)
	return ofCredentials(err)
}

// given is what the sandbox of a task gets.
func (a *Activities) given(ctx context.Context, work task.Work) (map[string]string, error) {
	if work.Unreadable != nil {
		return nil, ofCredentials(work.Unreadable)
	}
	if a.deps.Credentials == nil {
		return map[string]string{}, nil
	}
	env, err := a.deps.Credentials.Give(ctx, work)
	return env, ofCredentials(err)
}

// ofCredentials is an error of a search for credentials: what is missing only a person can give.
func ofCredentials(err error) error {
	if code := task.CodeOf(err); code == task.CodeNotFound || code == task.CodeInvalid {
		return classed(task.ClassCredentials, err)
	}
	return err
}
