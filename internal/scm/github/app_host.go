package github

import (
	"context"
	"errors"

	"github.com/omoi-dev/omoi/internal/task"
)

// Tokens returns the GitHub credential of a user, project or organization.
type Tokens interface {
	// Token returns the token of userID for projectID; either ID may be empty. own reports that the user, the project
	// or their organization set the token. ours reports that they may use the GitHub App of the server, also if err is
	// not nil. Without a token the error is [task.CodeUnauthorized] with the next step.
	Token(ctx context.Context, userID, projectID string) (token string, own, ours bool, err error)
}

// pass is the access to a repository: a token, and whether the App issued it.
type pass struct {
	token string
	app   bool
}

// pass returns the token for a repository in this order: the token that the user, their project or organization set;
// the token of the App, if the App is installed on the repository; the token of the server.
func (h *Host) pass(ctx context.Context, owner, name string) (pass, error) {
	token, own, ours, err := h.tokens.Token(ctx, h.owner.UserID, h.owner.ProjectID)
	none := task.CodeOf(err) == task.CodeUnauthorized
	if h.cfg.App == nil || own || !ours || err != nil && !none {
		return pass{token: token}, err
	}
	made, missing := h.cfg.App.Token(ctx, owner, name)
	switch {
	case !errors.Is(missing, errNotInstalled): // another token does not replace an App that is suspended or fails
		return pass{token: made, app: true}, missing
	case none: // without another token, the missing installation is the reason
		return pass{}, missing
	}
	return pass{token: token}, nil
}

// refused returns the error for a token that GitHub rejects as invalid, expired or revoked. The code is
// [task.CodeForbidden]: a retry with the same token is useless, and [task.CodeUnauthorized] would say that omoi's own
// caller is not authenticated. refused removes a token of the App from the cache.
func (r *repository) refused(cause error) error {
	if !r.app {
		return task.Errorf(task.CodeForbidden, "GitHub refused the token, which is wrong, has expired or was revoked. Next: set a new GITHUB_TOKEN, or omoi credentials set github, then retry").
			WithCause(cause).WithReason(task.NoCredential("github"))
	}
	r.host.cfg.App.forget(r.owner, r.name)
	return task.Errorf(task.CodeForbidden, "GitHub refused the token of the GitHub App for %s: the App was suspended there, or taken away. Next: omoi credentials test github, then retry", r.full()).WithCause(cause)
}
