package app

import (
	"context"
	"io"

	"github.com/omoi-dev/omoi/internal/scm"
)

// repos lets the API look at repositories, wherever they are hosted.
type repos struct{ hosts scm.Hosts }

// Check implements api.Repos.
func (r repos) Check(ctx context.Context, repo string) error {
	host, err := r.hosts.For(repo)
	if err != nil {
		return err
	}
	return host.Check(ctx, scm.Repo(repo))
}

// Diff implements api.Repos.
func (r repos) Diff(ctx context.Context, repo, base, branch string, w io.Writer) error {
	host, err := r.hosts.For(repo)
	if err != nil {
		return err
	}
	return host.Diff(ctx, scm.Repo(repo), base, branch, w)
}
