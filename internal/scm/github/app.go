package github

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/golang-jwt/jwt/v5"
	gh "github.com/google/go-github/v66/github"

	"github.com/omoi-dev/omoi/internal/task"
)

// AppConfig configures a GitHub App.
type AppConfig struct {
	ID  int64
	Key []byte // private key in PEM, as GitHub issues it
	URL string // web address of the server; empty: [Web]
}

const (
	renewBefore = 10 * time.Minute // minimum remaining lifetime of a cached token that Token returns
	mostTokens  = 10_000           // maximum number of cached tokens; a full cache is cleared
)

// App issues short-lived installation tokens of a GitHub App. App caches one token for each repository in memory; each
// token has access to this repository only. An App is safe for concurrent use.
type App struct {
	cfg AppConfig
	web *http.Client // authenticates as the App; no timeout of its own, callers set a deadline
	api *url.URL

	mu     sync.Mutex
	tokens map[string]*gh.InstallationToken // by [nameOf]; guarded by mu
}

// NewApp returns an App without a request to GitHub. An invalid private key is [task.CodeInvalid].
func NewApp(cfg AppConfig) (*App, error) {
	key, err := jwt.ParseRSAPrivateKeyFromPEM(cfg.Key)
	if err != nil { // err stays out of the message, because err may contain the key
		return nil, task.Invalid("github.app_key", "The private key of the GitHub App is invalid. Next: set OMOI_GITHUB_APP_KEY_FILE to the .pem file that GitHub generated")
	}
	cfg.URL = strings.TrimRight(cmp.Or(cfg.URL, Web), "/")
	api, err := url.Parse(API(cfg.URL) + "/")
	if err != nil {
		return nil, task.Invalid("github.url", "github.url is not a valid URL. Next: set it to an address like https://github.example.com").WithCause(err)
	}
	signer := ghinstallation.NewAppsTransportFromPrivateKey(http.DefaultTransport, cfg.ID, key)
	signer.BaseURL = API(cfg.URL)
	web := &http.Client{Transport: signer, CheckRedirect: sameHost}
	return &App{cfg: cfg, web: web, api: api, tokens: map[string]*gh.InstallationToken{}}, nil
}

// Token returns a token for a repository that is valid for at least ten more minutes. The error wraps [errNotInstalled]
// if the App is not installed on the repository.
func (a *App) Token(ctx context.Context, owner, name string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	full := nameOf(owner, name)
	a.mu.Lock()
	token := a.tokens[full]
	a.mu.Unlock()
	if token != nil && time.Until(token.GetExpiresAt().Time) > renewBefore {
		return token.GetToken(), nil
	}
	token, err := a.ask(ctx, owner, name)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.tokens) >= mostTokens {
		clear(a.tokens)
	}
	a.tokens[full] = token
	return token.GetToken(), nil
}

// ask requests a token for one repository with the permissions that omoi uses. The caller holds no lock: two concurrent
// calls request two tokens.
func (a *App) ask(ctx context.Context, owner, name string) (*gh.InstallationToken, error) {
	at, err := a.installed(ctx, owner, name)
	if err != nil {
		return nil, err
	}
	if lacks := lacking(at.GetPermissions()); lacks != "" {
		return nil, task.Errorf(task.CodeForbidden, "The GitHub App may not push to %s/%s: it lacks the permission %s. Next: give it read and write access to %s at %s/settings/apps, accept that at %s, then retry",
			owner, name, lacks, lacks, a.cfg.URL, at.GetHTMLURL())
	}
	token, _, err := a.client().Apps.CreateInstallationToken(ctx, at.GetID(), &gh.InstallationTokenOptions{
		Repositories: []string{name}, Permissions: permissions(at.GetPermissions()),
	})
	if err != nil {
		return nil, a.tokenRefused(at, owner+"/"+name, err)
	}
	return token, nil
}

// permissions returns the permissions that omoi uses and the App has. GitHub rejects a request for a permission that
// the App does not have.
func permissions(may *gh.InstallationPermissions) *gh.InstallationPermissions {
	out := &gh.InstallationPermissions{Contents: new("write"), PullRequests: new("write"), Metadata: new("read")}
	if may.GetWorkflows() == "write" { // GitHub requires it for commits that change GitHub Actions workflows
		out.Workflows = new("write")
	}
	return out
}

// nameOf returns the cache key of a repository: GitHub ignores upper and lower case in names.
func nameOf(owner, name string) string { return strings.ToLower(owner + "/" + name) }

// installed returns the installation that serves a repository.
func (a *App) installed(ctx context.Context, owner, name string) (*gh.Installation, error) {
	found, _, err := a.client().Apps.FindRepositoryInstallation(ctx, owner, name)
	switch {
	case statusOf(err) == http.StatusNotFound:
		return nil, a.notInstalled(ctx, owner, name)
	case err != nil:
		return nil, a.told(err, "look for its installation on "+owner+"/"+name)
	case found.SuspendedAt != nil:
		return nil, suspended(owner, found.GetHTMLURL(), nil)
	}
	return found, nil
}

// client returns a new client, because a client of go-github blocks calls after an earlier rate limit.
func (a *App) client() *gh.Client { return newClient(a.web, a.api) }

// forget removes the cached token of a repository.
func (a *App) forget(owner, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.tokens, nameOf(owner, name))
}

// Probe checks that GitHub knows the App, and returns a sentence that lists the accounts of its installations.
func (a *App) Probe(ctx context.Context) (says string, err error) {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	me, err := a.self(ctx)
	if err != nil {
		return "", err
	}
	known := fmt.Sprintf("GitHub knows the App %s (%d)", me.GetName(), a.cfg.ID)
	all, _, err := a.client().Apps.ListInstallations(ctx, &gh.ListOptions{PerPage: pageSize})
	if err != nil {
		return "", a.told(err, "list its installations")
	}
	if len(all) == 0 {
		return known + ". The App has no installation. Next: install it at " + me.GetHTMLURL() + "/installations/new", nil
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.GetAccount().GetLogin()
		if one.SuspendedAt != nil {
			names[i] += " (suspended)"
		}
	}
	return known + "; it is installed for " + strings.Join(names, ", ") + ".", nil
}

// Name returns the name of the App that is known without a request to GitHub.
func (a *App) Name() string { return fmt.Sprintf("GitHub App %d", a.cfg.ID) }
