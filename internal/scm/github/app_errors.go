package github

import (
	"context"
	"errors"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v66/github"

	"github.com/omoi-dev/omoi/internal/task"
)

// errNotInstalled reports a repository that no installation of the App serves.
var errNotInstalled = errors.New("the GitHub App is not installed on the repository")

// told converts an error of a call that authenticates as the App to a [task.Error]. doing completes "tried to", for
// example "list its installations".
func (a *App) told(err error, doing string) error {
	if limit := limited(err); limit != nil {
		return limit
	}
	switch status := statusOf(err); {
	case status == http.StatusUnauthorized:
		return a.unknown(err)
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return task.Errorf(task.CodeForbidden, "GitHub rejected the request of the GitHub App %d to %s: %s. Next: omoi credentials test github", a.cfg.ID, doing, says(err)).WithCause(err)
	}
	return task.Errorf(task.CodeUnavailable, "GitHub failed when the GitHub App tried to %s.", doing).WithCause(err)
}

// unknown returns the error for an App ID that GitHub does not know, or for a key that does not belong to the App.
func (a *App) unknown(cause error) error {
	return task.Errorf(task.CodeForbidden, "GitHub does not know the GitHub App %d with this private key: the ID, the key or the clock of this machine is wrong, or the key was deleted. "+
		"Next: see %s/settings/apps, set OMOI_GITHUB_APP_ID and OMOI_GITHUB_APP_KEY_FILE, restart omoi, then retry", a.cfg.ID, a.cfg.URL).WithCause(cause)
}

// notInstalled returns the error that names the page where a user installs the App. GitHub answers 404 for an unknown
// App too: self tells both apart.
func (a *App) notInstalled(ctx context.Context, owner, name string) error {
	me, err := a.self(ctx)
	if err != nil {
		return err
	}
	return task.Errorf(task.CodeForbidden, "The GitHub App %s is not installed on %s/%s. Next: install the App there at %s/installations/new, or run omoi credentials set github, then retry",
		me.GetName(), owner, name, me.GetHTMLURL()).WithCause(errNotInstalled).WithReason(task.NoCredential("github"))
}

// self returns the App as GitHub describes it.
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

// tokenRefused converts an error of the token request to a [task.Error]. full is owner/name.
func (a *App) tokenRefused(at *gh.Installation, full string, err error) error {
	if statusOf(err) == http.StatusForbidden && strings.Contains(says(err), "suspended") {
		owner, _, _ := strings.Cut(full, "/")
		return suspended(owner, at.GetHTMLURL(), err)
	}
	return a.told(err, "get a token for "+full)
}

func suspended(owner, page string, cause error) error {
	return task.Errorf(task.CodeForbidden, "%s has suspended the GitHub App. Next: unsuspend it at %s, or run omoi credentials set github, then retry", owner, page).WithCause(cause).WithReason(task.NoCredential("github"))
}

// lacking returns the names of the permissions that omoi needs and the installation does not grant, empty if there is
// none.
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
