package github

import (
	"context"
	"errors"

	"github.com/omoi-dev/omoi/internal/task"
)

// Tokens finds the credential with which to work on GitHub.
type Tokens interface {
	// Token returns what userID may use for projectID; either may be empty. Own reports that the user, the project or
	// their organization has set it, ours that they may work with the GitHub App that the server is configured with. Where
	// there is no token the error is [task.CodeUnauthorized] with the next step; ours is set then too.
	Token(ctx context.Context, userID, projectID string) (token string, own, ours bool, err error)
}

// pass is what opens a repository: a token, and whether it is one of the App.
type pass struct {
	token string
	app   bool
}

// pass finds the token for a repository: what people have set for themselves, their project or organization; else that
// of the App, where it is installed there; else that of the server.
func (h *Host) pass(ctx context.Context, owner, name string) (pass, error) {
	token, own, ours, err := h.tokens.Token(ctx, h.owner.UserID, h.owner.ProjectID)
	none := task.CodeOf(err) == task.CodeUnauthorized
	if h.cfg.App == nil || own || !ours || err != nil && !none {
		return pass{token: token}, err
	}
	made, missing := h.cfg.App.Token(ctx, owner, name)
	switch {
	case !errors.Is(missing, errNotInstalled): // one that is suspended, or cannot log in, is no reason to work with another's token
		return pass{token: made, app: true}, missing
	case none: // the App is what is amiss
		return pass{}, missing
	}
	return pass{token: token}, nil
}

// refused is of a token that GitHub does not know, or not any more. Trying again with it is of no use, and it says nothing of who
// asked omoi: hence not [task.CodeUnauthorized]. One of the App's is not used again.
func (r *repository) refused(cause error) error {
	if !r.app {
		return task.Errorf(task.CodeForbidden, "GitHub refused the token, which is wrong, has expired or was revoked. Next: set a new GITHUB_TOKEN, or omoi credentials set github, then retry").
			WithCause(cause).WithReason(task.NoCredential("github"))
	}
	r.host.cfg.App.forget(r.owner, r.name)
	return task.Errorf(task.CodeForbidden, "GitHub refused the token of the GitHub App for %s: the App was suspended there, or taken away. Next: omoi credentials test github, then retry", r.full()).WithCause(cause)
}
