package github

import (
	"cmp"
	"context"
	"crypto/rsa"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/golang-jwt/jwt/v5"
	gh "github.com/google/go-github/v66/github"

	"github.com/omoi-dev/omoi/internal/task"
)

// AppConfig is a GitHub App, and who may work with it.
type AppConfig struct {
	ID     int64
	Key    []byte // its private key, as GitHub gives it (PEM)
	URL    string // of the server; empty: [Web]
	Owners Owners
	// HTTP makes the requests; nil: a transport of its own.
	HTTP http.RoundTripper
}

// Owners tells credentials that people have set from what the server is configured with.
type Owners interface {
	// OwnToken answers the token of the user, the project or their organization; empty: none of them has one. Ours says
	// whether they may work with what the server is configured with.
	OwnToken(ctx context.Context, userID, projectID string) (token string, ours bool, err error)
}

const (
	renewBefore = 10 * time.Minute // the end of a token: what begins with it lasts
	lookAgain   = 5 * time.Minute  // at an installation that is there
	lookSoon    = 30 * time.Second // at one that is not
	mostKnown   = 10_000           // repositories whose installation is remembered
)

// App works with the short-lived tokens of a GitHub App. It keeps them in memory, one for each installation. It is
// safe for concurrent use.
type App struct {
	cfg AppConfig
	key *rsa.PrivateKey
	api string // base address of the REST API, without a slash at its end

	mu     sync.Mutex
	known  map[string]installation // by owner/name
	tokens map[int64]*ghinstallation.Transport
}

// installation is what was found at a time; an id of 0: the App is not installed there.
type installation struct {
	id    int64
	page  string // where its owner changes it
	until time.Time
}

// NewApp makes an App and asks nobody; [task.CodeInvalid] for a key that is none.
func NewApp(cfg AppConfig) (*App, error) {
	key, err := jwt.ParseRSAPrivateKeyFromPEM(cfg.Key)
	if err != nil { // not repeated: it may be the key
		return nil, task.Invalid("github.app_key", "The private key of the GitHub App cannot be read. Next: give the .pem file that GitHub made as OMOI_GITHUB_APP_KEY_FILE")
	}
	web := strings.TrimRight(cmp.Or(cfg.URL, Web), "/")
	cfg.URL, cfg.HTTP = web, cmp.Or(cfg.HTTP, http.DefaultTransport)
	return &App{cfg: cfg, key: key, api: API(web), known: map[string]installation{}, tokens: map[int64]*ghinstallation.Transport{}}, nil
}

// Token answers a token for a repository that is good for ten minutes at least. [errNotInstalled] is in the error where
// the App is not installed on it.
func (a *App) Token(ctx context.Context, owner, name string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	at, err := a.installed(ctx, owner, name)
	if err != nil {
		return "", err
	}
	source := a.source(at.id)
	token, err := source.Token(ctx)
	if err != nil {
		a.forget(owner, name)
		return "", a.tokenRefused(at, owner, err)
	}
	if lacks := lacking(source); lacks != "" {
		a.drop(at.id) // or what is granted now would show in an hour
		return "", a.mayNot(at, owner+"/"+name, lacks)
	}
	return token, nil
}

// installed answers the installation that serves a repository.
func (a *App) installed(ctx context.Context, owner, name string) (installation, error) {
	full := strings.ToLower(owner + "/" + name)
	a.mu.Lock()
	at, known := a.known[full]
	a.mu.Unlock()
	if !known || time.Now().After(at.until) {
		var err error
		if at, err = a.look(ctx, owner, name); err != nil {
			return at, err
		}
		a.remember(full, at)
	}
	if at.id == 0 {
		return at, a.notInstalled(ctx, owner, name)
	}
	return at, nil
}

// look asks GitHub for the installation of a repository.
func (a *App) look(ctx context.Context, owner, name string) (installation, error) {
	found, _, err := a.client().Apps.FindRepositoryInstallation(ctx, owner, name)
	switch {
	case statusOf(err) == http.StatusNotFound:
		return installation{until: time.Now().Add(lookSoon)}, nil
	case err != nil:
		return installation{}, a.told(err, "look for its installation on "+owner+"/"+name)
	case found.SuspendedAt != nil:
		a.drop(found.GetID())
		return installation{}, suspended(owner, found.GetHTMLURL(), nil)
	}
	return installation{id: found.GetID(), page: found.GetHTMLURL(), until: time.Now().Add(lookAgain)}, nil
}

func (a *App) remember(full string, at installation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) >= mostKnown {
		clear(a.known)
	}
	a.known[full] = at
}

// forget makes the next call look for the installation again.
func (a *App) forget(owner, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.known, strings.ToLower(owner+"/"+name))
}

// source is what has the token of an installation. One whose token ends soon is replaced: it would give that out until
// its last minute. Each has its own signer, since both are changed by a renewal.
func (a *App) source(id int64) *ghinstallation.Transport {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.tokens[id]; t != nil {
		if ends, _, err := t.Expiry(); err != nil || time.Until(ends) > renewBefore {
			return t
		}
	}
	t := ghinstallation.NewFromAppsTransport(a.signer(), id)
	t.BaseURL = a.api
	a.tokens[id] = t
	return t
}

// drop makes the next call ask for a new token.
func (a *App) drop(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.tokens, id)
}

func (a *App) signer() *ghinstallation.AppsTransport {
	s := ghinstallation.NewAppsTransportFromPrivateKey(a.cfg.HTTP, a.cfg.ID, a.key)
	s.BaseURL = a.api
	return s
}

// client speaks as the App itself; those who call have a time limit.
func (a *App) client() *gh.Client {
	api := gh.NewClient(&http.Client{Transport: a.signer(), CheckRedirect: sameHost})
	api.UserAgent = "omoi"
	if own, err := speaking(api, a.cfg.URL); err == nil { // the address was parsed before
		return own
	}
	return api
}
