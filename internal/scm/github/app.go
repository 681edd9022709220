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

// AppConfig is a GitHub App.
type AppConfig struct {
	ID  int64
	Key []byte // its private key, as GitHub gives it (PEM)
	URL string // of the server; empty: [Web]
}

const (
	renewBefore = 10 * time.Minute // the end of a token: what begins with it lasts
	mostTokens  = 10_000           // repositories whose token is remembered
)

// App works with the short-lived tokens of a GitHub App. It keeps them in memory, one for each repository, which opens that
// one alone. It is safe for concurrent use.
type App struct {
	cfg AppConfig
	web *http.Client // speaks as the App itself; those who call have a time limit
	api *url.URL

	mu     sync.Mutex
	tokens map[string]*gh.InstallationToken // by owner/name; guarded by mu
}

// NewApp makes an App and asks nobody; [task.CodeInvalid] for a key that is none.
func NewApp(cfg AppConfig) (*App, error) {
	key, err := jwt.ParseRSAPrivateKeyFromPEM(cfg.Key)
	if err != nil { // not repeated: it may be the key
		return nil, task.Invalid("github.app_key", "The private key of the GitHub App cannot be read. Next: give the .pem file that GitHub made as OMOI_GITHUB_APP_KEY_FILE")
	}
	cfg.URL = strings.TrimRight(cmp.Or(cfg.URL, Web), "/")
	api, err := url.Parse(API(cfg.URL) + "/")
	if err != nil {
		return nil, task.Invalid("github.url", "github.url cannot be used.").WithCause(err)
	}
	signer := ghinstallation.NewAppsTransportFromPrivateKey(http.DefaultTransport, cfg.ID, key)
	signer.BaseURL = API(cfg.URL)
	web := &http.Client{Transport: signer, CheckRedirect: sameHost}
	return &App{cfg: cfg, web: web, api: api, tokens: map[string]*gh.InstallationToken{}}, nil
}

// Token answers a token for a repository that is good for ten minutes at least. [errNotInstalled] is in the error where
// the App is not installed on it.
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

// ask asks for a token that opens one repository, and may do there what omoi does and no more. No lock is held meanwhile: two that
// ask at once get one each.
func (a *App) ask(ctx context.Context, owner, name string) (*gh.InstallationToken, error) {
	at, err := a.installed(ctx, owner, name)
	if err != nil {
		return nil, err
	}
	if lacks := lacking(at.GetPermissions()); lacks != "" {
		return nil, task.Errorf(task.CodeForbidden, "The GitHub App may not push to %s/%s: it lacks the permission %s. Next: give it %s to read and write at %s/settings/apps, accept that at %s, then retry",
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

// permissions are those that omoi uses of those that the App has. What is asked for and not granted would be refused.
func permissions(may *gh.InstallationPermissions) *gh.InstallationPermissions {
	out := &gh.InstallationPermissions{Contents: new("write"), PullRequests: new("write"), Metadata: new("read")}
	if may.GetWorkflows() == "write" { // for commits that change files of GitHub Actions
		out.Workflows = new("write")
	}
	return out
}

// nameOf is a repository in the one case by which it is remembered.
func nameOf(owner, name string) string { return strings.ToLower(owner + "/" + name) }

// installed asks GitHub for the installation that serves a repository.
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

// client remembers no rate limit of an earlier call.
func (a *App) client() *gh.Client { return newClient(a.web, a.api) }

// forget makes the next call ask for a new token.
func (a *App) forget(owner, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.tokens, nameOf(owner, name))
}

// Probe asks GitHub whether it knows the App, and says where it is installed.
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
		return known + ". It is installed nowhere. Next: install it at " + me.GetHTMLURL() + "/installations/new", nil
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

// Name is what the App is called before GitHub is asked.
func (a *App) Name() string { return fmt.Sprintf("GitHub App %d", a.cfg.ID) }
