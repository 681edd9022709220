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

// Web is where GitHub itself is.
const Web = "https://github.com"

// API is where the API of a server is: GitHub's own, that of an enterprise's own domain at GitHub (<name>.ghe.com), or
// below /api/v3 of an Enterprise server. Empty is GitHub itself.
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

// newClient makes a client of a server's API.
func newClient(requests *http.Client, api *url.URL) *gh.Client {
	client := gh.NewClient(requests)
	client.UserAgent, client.BaseURL = "omoi", api
	return client
}

// Config is how GitHub is reached.
type Config struct {
	// URL is where people find the server, https://github.com or that of an Enterprise server; empty: [Web].
	URL string
	// Scratch holds throw-away copies of repositories; nil: where the system has such.
	Scratch *tempdir.Dir
	// History is how much of it sandboxes get.
	History scm.History
	// HTTP makes the requests of the API; nil: a client of its own with a time limit.
	HTTP *http.Client
	// App is worked with where its users have no token of their own; nil: there is none.
	App *App
}

// callTimeout bounds one call of the API.
const callTimeout = 15 * time.Second

// Hub is a GitHub server. It keeps no state of its own.
type Hub struct {
	cfg    Config
	web    *url.URL
	api    *url.URL
	tokens Tokens
	local  *localgit.Host
}

// New makes a hub; [task.CodeInvalid] for an address that is none.
func New(cfg Config, tokens Tokens) (*Hub, error) {
	web, err := url.Parse(strings.TrimRight(cmp.Or(cfg.URL, Web), "/"))
	if err != nil || web.Host == "" || (web.Scheme != "https" && web.Scheme != "http") || web.User != nil {
		return nil, task.Invalid("github.url", "github.url must be an address like https://github.example.com, without a user.")
	}
	api, err := url.Parse(API(web.String()) + "/")
	if err != nil {
		return nil, task.Invalid("github.url", "github.url cannot be used.").WithCause(err)
	}
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{Timeout: callTimeout, CheckRedirect: sameHost}
	}
	return &Hub{cfg: cfg, web: web, api: api, tokens: tokens, local: localgit.New(localgit.Config{Scratch: cfg.Scratch})}, nil
}

// sameHost follows a server that sends us elsewhere in itself, as for a repository that was renamed; the token is
// shown to nobody else.
func sameHost(r *http.Request, via []*http.Request) error {
	if r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

const maxRedirects = 5

// Web is the address under which people find repositories, without a slash at its end.
func (h *Hub) Web() string { return h.web.String() }

// As returns the host as owner may use it.
func (h *Hub) As(owner scm.Owner) *Host { return &Host{Hub: h, owner: owner} }

// Host is GitHub with the credential of one owner.
type Host struct {
	*Hub

	owner scm.Owner
}

var _ scm.Host = (*Host)(nil)

// repository is one of GitHub's, and the client and token with which to work on it.
type repository struct {
	pass

	host        *Host
	owner, name string
	login       string // the owner as the server writes it; empty: nobody looked
	api         *gh.Client
}

// open makes the client of a repository; it asks nobody but for the token.
func (h *Host) open(ctx context.Context, repo scm.Repo) (*repository, error) {
	owner, name, ok := scm.OwnerName(string(repo))
	if !ok {
		return nil, task.Invalid("repo", "Repository %q is not of the form owner/name.", repo)
	}
	with, err := h.pass(ctx, owner, name)
	if task.CodeOf(err) == task.CodeUnauthorized {
		return nil, task.Errorf(task.CodeForbidden, "Repository %s is one of GitHub. %s", repo, task.MessageOf(err)).
			WithCause(errors.Join(scm.ErrNoCredential, err))
	}
	if err != nil {
		return nil, err
	}
	return &repository{host: h, owner: owner, name: name, pass: with, api: newClient(h.cfg.HTTP, h.api).WithAuthToken(with.token)}, nil
}

func (r *repository) full() string { return r.owner + "/" + r.name }

// page is a page of the repository for people.
func (r *repository) page(path string) string {
	return r.host.web.JoinPath(r.owner, r.name, path).String()
}

// remote is where git finds the repository.
func (r *repository) remote() string { return r.page("") + ".git" }

// Check says whether repo can be worked on: it is there, is not archived, has a commit, and
// the token may push. Otherwise an error with the next step.
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

// look reads the repository and refuses one that cannot be written.
func (r *repository) look(ctx context.Context) (*gh.Repository, error) {
	found, _, err := r.api.Repositories.Get(ctx, r.owner, r.name)
	if err != nil {
		return nil, r.told(err, "look at the repository")
	}
	r.login = found.GetOwner().GetLogin()
	may := found.GetPermissions()
	switch {
	case found.GetArchived():
		return nil, task.Invalid("repo", "Repository %s is archived, nothing can be pushed to it. Next: unarchive it at %s", r.full(), r.page("settings"))
	case found.GetDisabled():
		return nil, task.Invalid("repo", "Repository %s is disabled by GitHub.", r.full())
	case may != nil && !may["push"] && !r.app: // of an App's token it says nothing; what that may was looked at before
		return nil, task.Errorf(task.CodeForbidden, "The token may read %s but not push to it. Next: give it contents and pull requests to read and write, then retry", r.full())
	}
	return found, nil
}
