package github

import (
	"context"
	"errors"

	"github.com/omoi-dev/omoi/internal/task"
)

// pass is what opens a repository: a token, and whether it is one of the App.
type pass struct {
	token string
	app   bool
}

// pass finds the token for a repository: what people have set for themselves, their project or organization; else that
// of the App, where it is installed there; else that of the server.
func (h *Host) pass(ctx context.Context, owner, name string) (pass, error) {
	var missing error // of an App that is not installed there
	if h.cfg.App != nil {
		own, ours, err := h.tokens.OwnToken(ctx, h.owner.UserID, h.owner.ProjectID)
		if err != nil || own != "" {
			return pass{token: own}, err
		}
		if ours {
			token, err := h.cfg.App.Token(ctx, owner, name)
			if !errors.Is(err, errNotInstalled) { // one that is suspended, or cannot log in, is no reason to work with another's token
				return pass{token: token, app: true}, err
			}
			missing = err
		}
	}
	token, err := h.tokens.Token(ctx, h.owner.UserID, h.owner.ProjectID)
	if missing != nil && task.CodeOf(err) == task.CodeUnauthorized { // there is none: the App is what is amiss
		return pass{}, missing
	}
	return pass{token: token}, err
}

// refused is of a token that GitHub does not take. One of the App's is not used again.
func (r *repository) refused(cause error) error {
	if !r.app {
		return refused(cause)
	}
	r.host.cfg.App.forget(r.owner, r.name)
	return task.Errorf(task.CodeForbidden, "GitHub refused the token of the GitHub App for %s: the App was suspended there, or taken away. Next: omoi credentials test github, then retry", r.full()).WithCause(cause)
}
