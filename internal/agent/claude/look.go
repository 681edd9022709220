package claude

import (
	"context"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/proc"
)

// validate judges the work: by the repository, and by the task's own test command, which is
// stopped as a turn is.
func (t *talk) validate(ctx context.Context, end *turn) (continuous.Work, error) {
	w := continuous.Look(ctx, t.env, continuous.AsksOf(t.vars)).Asked(t.env, t.vars)
	if t.env.Config.TestCommand == "" {
		return w, ctx.Err()
	}
	done := t.env.Doing.Tool("test command")
	defer done()
	var res proc.Result
	var err error
	t.attend(ctx, end, func(ctx context.Context) {
		res, err = t.env.Procs.Run(ctx, continuous.Test(t.env, withoutCredentials(t.env.Environ)))
	})
	t.stopped(end)
	return w.Judged(res, err), ctx.Err()
}
