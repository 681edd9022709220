package github

import (
	"context"
	"errors"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v66/github"

	"github.com/omoi-dev/omoi/internal/task"
)

// errNotInstalled is of a repository that the App does not serve.
var errNotInstalled = errors.New("the GitHub App is not installed on the repository")

// told makes of an error of a call as the App what people and retries need; doing is what was tried.
func (a *App) told(err error, doing string) error {
	if limit := limited(err); limit != nil {
		return limit
	}
	switch status := statusOf(err); {
	case status == http.StatusUnauthorized:
		return a.unknown(err)
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return task.Errorf(task.CodeForbidden, "GitHub does not let the GitHub App %d %s: %s. Next: omoi credentials test github", a.cfg.ID, doing, says(err)).WithCause(err)
	}
	return task.Errorf(task.CodeUnavailable, "GitHub failed when the GitHub App tried to %s.", doing).WithCause(err)
}

// unknown is of an App that GitHub does not know, or of a key that is not the App's.
func (a *App) unknown(cause error) error {
	return task.Errorf(task.CodeForbidden, "GitHub does not know the GitHub App %d with this private key: the id or the key is wrong, the key was deleted, or the clock of this machine is. "+
		"Next: look at %s/settings/apps, set OMOI_GITHUB_APP_ID and OMOI_GITHUB_APP_KEY_FILE, restart omoi, then retry", a.cfg.ID, a.cfg.URL).WithCause(cause)
}

// notInstalled says where the App can be installed; GitHub answers for an unknown App as for one that is not installed.
func (a *App) notInstalled(ctx context.Context, owner, name string) error {
	me, err := a.self(ctx)
	if err != nil {
		return err
	}
	return task.Errorf(task.CodeForbidden, "The GitHub App %s is not installed on %s/%s. Next: install it there at %s/installations/new, or omoi credentials set github, then retry",
		me.GetName(), owner, name, me.GetHTMLURL()).WithCause(errNotInstalled).WithReason(task.NoCredential("github"))
}

// self is the App as GitHub knows it.
func (a *App) self(ctx context.Context) (*gh.App, error) {
	me, _, err := a.client().Apps.Get(ctx, "")
	if statusOf(err) == http.StatusNotFound {
		return nil, a.unknown(err)
	}
	if err != nil {
		return nil, a.told(err, "ask who it is")
	}
	return me, nil
}

// tokenRefused makes of an error of the token call what people and retries need.
func (a *App) tokenRefused(at *gh.Installation, full string, err error) error {
	if statusOf(err) == http.StatusForbidden && strings.Contains(says(err), "suspended") {
		owner, _, _ := strings.Cut(full, "/")
		return suspended(owner, at.GetHTMLURL(), err)
	}
	return a.told(err, "get a token for "+full)
}

func suspended(owner, page string, cause error) error {
	return task.Errorf(task.CodeForbidden, "%s has suspended the GitHub App. Next: unsuspend it at %s, or omoi credentials set github, then retry", owner, page).WithCause(cause).WithReason(task.NoCredential("github"))
}

// lacking names what an App may not do where it is installed and omoi needs.
func lacking(may *gh.InstallationPermissions) string {
	var lacks []string
	if may.GetContents() != "write" {
		lacks = append(lacks, "Contents")
	}
	if may.GetPullRequests() != "write" {
		lacks = append(lacks, "Pull requests")
	}
	return strings.Join(lacks, " and ")
}
