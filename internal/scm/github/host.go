package github

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"

	gh "github.com/google/go-github/v66/github"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/localgit"
	"github.com/omoi-dev/omoi/internal/scm/tempdir"
	"github.com/omoi-dev/omoi/internal/task"
)

// Web is the web address of github.com.
const Web = "https://github.com"

// API returns the API address of a server: api.github.com, api.<name>.ghe.com for GitHub Enterprise Cloud with data
// residency, or /api/v3 of a GitHub Enterprise server. Empty means github.com.
func API(web string) string {
	web = strings.TrimRight(cmp.Or(web, Web), "/")
	if web == Web {
		return "https://api.github.com"
	}
	u, err := url.Parse(web)
	if err == nil && strings.HasSuffix(strings.ToLower(u.Hostname()), ".ghe.com") {
		return u.Scheme + "://api." + u.Host
	}
	return web + "/api/v3"
}

// newClient returns a client of the API at this address.
func newClient(requests *http.Client, api *url.URL) *gh.Client {
	client := gh.NewClient(requests)
	client.UserAgent, client.BaseURL = "omoi", api
	return client
}

// Config configures access to GitHub.
type Config struct {
	// URL is the web address of the server; empty: [Web].
	URL string
	// Scratch holds temporary copies of repositories; nil: the system's temporary folder.
	Scratch *tempdir.Dir
	// History is the amount of history that sandboxes get.
	History scm.History
	// HTTP sends the API requests; nil: a client with a timeout of [callTimeout].
	HTTP *http.Client
	// App issues tokens for users without their own; nil: no App.
	App *App
}

// callTimeout limits one API request.
const callTimeout = 15 * time.Second

// Hub is a GitHub server. Hub keeps no state of its own.
type Hub struct {
	cfg    Config
	web    *url.URL
	api    *url.URL
	tokens Tokens
	local  *localgit.Host
}

// New returns a hub. An invalid address is [task.CodeInvalid].
func New(cfg Config, tokens Tokens) (*Hub, error) {
	web, err := url.Parse(strings.TrimRight(cmp.Or(cfg.URL, Web), "/"))
	if err != nil || web.Host == "" || (web.Scheme != "https" && web.Scheme != "http") || web.User != nil {
		return nil, task.Invalid("github.url", "github.url must be an address like https://github.example.com, without a user.")
	}
	api, err := url.Parse(API(web.String()) + "/")
	if err != nil {
		return nil, task.Invalid("github.url", "github.url is not a valid URL. Next: set it to an address like https://github.example.com").WithCause(err)
	}
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{Timeout: callTimeout, CheckRedirect: sameHost}
	}
	return &Hub{cfg: cfg, web: web, api: api, tokens: tokens, local: localgit.New(localgit.Config{Scratch: cfg.Scratch})}, nil
}

// sameHost follows redirects within the server, for example of a renamed repository. A redirect to another server is
// not followed, so that the token stays with the server.
func sameHost(r *http.Request, via []*http.Request) error {
	if r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

const maxRedirects = 5

// Web returns the web address of the server, without a trailing slash.
func (h *Hub) Web() string { return h.web.String() }

// As returns the host with the credential of owner.
func (h *Hub) As(owner scm.Owner) *Host { return &Host{Hub: h, owner: owner} }

// Host is GitHub with the credential of one owner.
type Host struct {
	*Hub

	owner scm.Owner
}

var _ scm.Host = (*Host)(nil)

// repository is a GitHub repository with a client and a token for it.
type repository struct {
	pass

	host        *Host
	owner, name string
	login       string // owner in the server's spelling; empty until look or pullFor reads it
	api         *gh.Client
}

// open returns the client of a repository. open sends no request except for a token of the App.
func (h *Host) open(ctx context.Context, repo scm.Repo) (*repository, error) {
	owner, name, ok := scm.OwnerName(string(repo))
	if !ok {
		return nil, task.Invalid("repo", "Repository %q is not of the form owner/name.", repo)
	}
	with, err := h.pass(ctx, owner, name)
	if task.CodeOf(err) == task.CodeUnauthorized {
		return nil, task.Errorf(task.CodeForbidden, "Repository %s is on GitHub. %s", repo, task.MessageOf(err)).
			WithCause(errors.Join(scm.ErrNoCredential, err))
	}
	if err != nil {
		return nil, err
	}
	return &repository{host: h, owner: owner, name: name, pass: with, api: newClient(h.cfg.HTTP, h.api).WithAuthToken(with.token)}, nil
}

func (r *repository) full() string { return r.owner + "/" + r.name }

// page returns the web address of a page of the repository.
func (r *repository) page(path string) string {
	return r.host.web.JoinPath(r.owner, r.name, path).String()
}

// remote returns the address of the repository for git.
func (r *repository) remote() string { return r.page("") + ".git" }

// Check returns nil if omoi can use repo: the repository exists, is not archived, has a commit, and the token may push.
// Otherwise the error has the next step.
func (h *Host) Check(ctx context.Context, repo scm.Repo) error {
	if _, err := exec.LookPath("git"); err != nil {
		return task.Errorf(task.CodeUnavailable, "The program git is not on PATH. Next: install git and try again.").WithCause(err)
	}
	r, err := h.open(ctx, repo)
	if err != nil {
		return err
	}
	_, err = r.source(ctx, "")
	return err
}

// look reads the repository, and returns an error if omoi cannot push to it.
func (r *repository) look(ctx context.Context) (*gh.Repository, error) {
	found, _, err := r.api.Repositories.Get(ctx, r.owner, r.name)
	if err != nil {
		return nil, r.told(err, "look at the repository")
	}
	r.login = found.GetOwner().GetLogin()
	may := found.GetPermissions()
	switch {
	case found.GetArchived():
		return nil, task.Invalid("repo", "Repository %s is archived, so omoi cannot push to it. Next: unarchive it at %s", r.full(), r.page("settings"))
	case found.GetDisabled():
		return nil, task.Invalid("repo", "Repository %s is disabled by GitHub.", r.full())
	// GitHub reports no user permissions for a token of the App; ask checked its permissions.
	case may != nil && !may["push"] && !r.app:
		return nil, task.Errorf(task.CodeForbidden, "The token may read %s but not push to it. Next: give the token read and write access to contents and pull requests, then retry", r.full())
	}
	return found, nil
}
