package daytona

import (
	"context"
	"errors"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// poll looks until look says that it is done, gently: a look that failed for a passing reason
// is repeated. After patience it answers [task.CodeUnavailable] with what it waited for.
func (p *Provider) poll(ctx context.Context, patience time.Duration, what string, look func(context.Context) (bool, error)) error {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	for delay := p.cfg.PollMin; ; delay = min(delay+delay/2, p.cfg.PollMax) {
		done, err := look(within)
		if done || err != nil && !passing(err) {
			return err
		}
		if err != nil && within.Err() == nil {
			last = err
		}
		if wait.For(within, delay) != nil {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return errors.Join(err, last)
	}
	return task.Errorf(task.CodeUnavailable, "omoi waited too long until %s", what).WithCause(last)
}
