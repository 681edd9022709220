package claude

import (
	"context"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
)

// validate judges the work; the test command is stopped as a turn is.
func (t *talk) validate(ctx context.Context, end *turn) (continuous.Work, error) {
	w, err := t.loop().Validate(ctx, t.vars, withoutCredentials(t.env.Environ), func(do func(context.Context)) { t.attend(ctx, end, do) })
	t.stopped(end)
	return w, err
}
