package app

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/github"
	"github.com/omoi-dev/omoi/internal/task"
)

// openHosts adds GitHub to the local Git host.
func (c *core) openHosts(context.Context) error {
	app, err := gitHubApp(c.cfg)
	if err != nil {
		return err
	}
	if app != nil {
		c.credentials.UseApp(app)
	}
	hub, err := github.New(github.Config{
		URL: c.cfg.GitHub.URL, App: app, Scratch: c.scratch, History: history(c.cfg),
	}, c.credentials)
	if err != nil {
		return err
	}
	c.hub = hub
	c.hosts.Remote, c.hosts.Web = func(owner scm.Owner) scm.Host { return hub.As(owner) }, hub.Web()
	return nil
}

// history returns how much Git history sandboxes get.
func history(cfg *config.Loaded) scm.History {
	return scm.History{Whole: cfg.Worker.FullCloneMaxBytes, Depth: cfg.Worker.CloneDepth}
}

// repos gives the API access to repositories of all Git hosts.
type repos struct{ hosts scm.Hosts }

// ofCaller makes the error forbidden of a Git host an invalid repo, because it concerns the token for the host and not the caller's API
// key.
func ofCaller(err error) error {
	if task.CodeOf(err) == task.CodeForbidden {
		return task.Invalid("repo", "%s", task.MessageOf(err)).WithCause(err)
	}
	return err
}

// Check implements api.Repos.
func (r repos) Check(ctx context.Context, who scm.Owner, repo string) (string, error) {
	repo = r.hosts.Name(repo)
	host, err := r.hosts.For(repo, who)
	if err != nil {
		return "", err
	}
	return repo, ofCaller(host.Check(ctx, scm.Repo(repo)))
}

// Head implements api.Repos.
func (r repos) Head(ctx context.Context, who scm.Owner, repo, branch string) (string, error) {
	host, err := r.hosts.For(repo, who)
	if err != nil {
		return "", err
	}
	head, err := host.Head(ctx, scm.Repo(repo), branch)
	return head, ofCaller(err)
}

// Name implements api.Repos.
func (r repos) Name(repo string) string { return r.hosts.Name(repo) }

// Diff implements api.Repos.
func (r repos) Diff(ctx context.Context, who scm.Owner, of api.BranchDiff, w io.Writer) error {
	host, err := r.hosts.For(of.Repo, who)
	if err != nil {
		return err
	}
	return host.Diff(ctx, scm.Repo(of.Repo), of.Base, of.Branch, w)
}

// gitHubApp returns the configured GitHub App, or nil.
func gitHubApp(cfg *config.Loaded) (*github.App, error) {
	if cfg.GitHub.AppID == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	key, err := gitHubKey(cfg.GitHub)
	if err != nil {
		return nil, err
	}
	return github.NewApp(github.AppConfig{ID: cfg.GitHub.AppID, Key: key, URL: cfg.GitHub.URL})
}

// gitHubKey returns the private key of the GitHub App. A variable may contain the lines joined by \n.
func gitHubKey(g config.GitHub) ([]byte, error) {
	if key := g.AppKey.Reveal(); key != "" {
		return []byte(strings.ReplaceAll(key, `\n`, "\n")), nil
	}
	key, err := os.ReadFile(g.AppKeyFile)
	if err != nil {
		return nil, task.Errorf(task.CodeInvalid, "Cannot read github.app_key_file %s. Next: make it readable for the user that omoi runs as", g.AppKeyFile).WithCause(err)
	}
	return key, nil
}

const gitHubTimeout = 5 * time.Second

// checkGitHub returns how omoi logs in at GitHub for users without a token of their own.
func checkGitHub(ctx context.Context, cfg *config.Loaded) Finding {
	found := Finding{Check: "github", Status: FindingOK}
	app, err := gitHubApp(cfg)
	switch {
	case err == nil && app != nil:
		ctx, stop := context.WithTimeout(ctx, gitHubTimeout)
		defer stop()
		found.Detail, err = app.Probe(ctx)
	case cfg.GitHub.Token != "":
		found.Detail, found.Next = "GITHUB_TOKEN is set", "omoi credentials test github"
	default:
		found.Detail, found.Next = "neither GITHUB_TOKEN nor a GitHub App: each user brings a token", "omoi credentials set github; see docs/GITHUB.md"
	}
	if err != nil {
		found.Status, found.Detail, found.Next = FindingWarn, task.MessageOf(err), "see docs/GITHUB.md"
	}
	return found
}
