package app

import (
	"context"
	"io"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/github"
	"github.com/omoi-dev/omoi/internal/task"
)

// openHosts makes remote repositories reachable beside local ones.
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

// history is how much of it sandboxes get.
func history(cfg *config.Loaded) scm.History {
	return scm.History{Whole: cfg.Worker.FullCloneMaxBytes, Depth: cfg.Worker.CloneDepth}
}

// repos lets the API look at repositories, wherever they are hosted.
type repos struct{ hosts scm.Hosts }

// Check implements api.Repos. A token that a repository's host refuses says nothing of the caller's own key.
func (r repos) Check(ctx context.Context, who scm.Owner, repo string) (string, error) {
	repo = r.hosts.Name(repo)
	host, err := r.hosts.For(repo, who)
	if err != nil {
		return "", err
	}
	err = host.Check(ctx, scm.Repo(repo))
	if task.CodeOf(err) == task.CodeForbidden {
		return "", task.Invalid("repo", "%s", task.MessageOf(err)).WithCause(err)
	}
	return repo, err
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
