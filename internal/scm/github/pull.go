package github

import (
	"context"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v66/github"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// Marks of the part of a pull request's text that is omoi's. What stands around it is left alone.
const (
	markBegin = "<!-- omoi:begin -->"
	markEnd   = "<!-- omoi:end -->"
)

// EnsurePull answers the pull request of a head branch. One that is open is adopted, one that was closed is
// opened again, and only where there is none, or the last one was merged before the newest commits, one is
// made. The text of one that is there is brought up to date, without what people wrote into it.
func (h *Host) EnsurePull(ctx context.Context, repo scm.Repo, pull scm.PullRequest) (scm.PullRequest, error) {
	r, err := h.open(ctx, repo)
	if err != nil {
		return scm.PullRequest{}, err
	}
	head, err := r.mustExist(ctx, pull.Head)
	if err != nil {
		return scm.PullRequest{}, err
	}
	from, err := r.base(ctx, pull.Base)
	if err != nil {
		return scm.PullRequest{}, err
	}
	pull.Base = from.name
	made, err := r.ensurePull(ctx, pull, head.commit)
	if err != nil {
		return scm.PullRequest{}, err
	}
	return pullOf(made), nil
}

func (r *repository) ensurePull(ctx context.Context, pull scm.PullRequest, commit string) (*gh.PullRequest, error) {
	there, err := r.pullFor(ctx, pull.Head, commit)
	if err != nil || there != nil {
		return r.refresh(ctx, there, pull, err)
	}
	body := marked(pull.Body)
	made, _, err := r.api.PullRequests.Create(ctx, r.owner, r.name, &gh.NewPullRequest{
		Title: &pull.Title, Head: &pull.Head, Base: &pull.Base, Body: &body,
	})
	if statusOf(err) == http.StatusUnprocessableEntity { // there already, if an answer was lost or the list was stale
		if there, lerr := r.pullFor(ctx, pull.Head, commit); lerr != nil || there != nil {
			return r.refresh(ctx, there, pull, lerr)
		}
	}
	return made, r.told(err, "open a pull request for "+pull.Head)
}

// pullFor answers the pull request that a branch has, nil if it needs a new one.
func (r *repository) pullFor(ctx context.Context, branch, commit string) (*gh.PullRequest, error) {
	if r.login == "" {
		if _, err := r.look(ctx); err != nil {
			return nil, err
		}
	}
	all, _, err := r.api.PullRequests.List(ctx, r.owner, r.name, &gh.PullRequestListOptions{
		State: "all", Head: r.login + ":" + branch, ListOptions: gh.ListOptions{PerPage: pageSize},
	})
	if err != nil {
		return nil, r.told(err, "list the pull requests of "+branch)
	}
	var last *gh.PullRequest
	for _, p := range all {
		if p.GetHead().GetRef() != branch { // a server that does not know the filter
			continue
		}
		if p.GetState() == "open" {
			return p, nil
		}
		if p.GetNumber() > last.GetNumber() {
			last = p
		}
	}
	if last != nil && last.MergedAt != nil && last.GetHead().GetSHA() != commit {
		return nil, nil //nolint:nilnil // it was merged and is over; the new commits need one of their own
	}
	return last, nil
}

// refresh brings the text of a pull request up to date, and opens it again if a person closed it.
func (r *repository) refresh(ctx context.Context, there *gh.PullRequest, want scm.PullRequest, err error) (*gh.PullRequest, error) {
	if err != nil || there.MergedAt != nil {
		return there, err
	}
	body, change := merged(there.GetBody(), want.Body), &gh.PullRequest{}
	if body != there.GetBody() {
		change.Body = &body
	}
	if there.GetState() != "open" {
		change.State = new("open")
	}
	if change.Body == nil && change.State == nil {
		return there, nil
	}
	changed, _, err := r.api.PullRequests.Edit(ctx, r.owner, r.name, there.GetNumber(), change)
	if err != nil && change.State != nil && statusOf(err) == http.StatusUnprocessableEntity {
		return nil, task.Errorf(task.CodeConflict, "Pull request #%d of %s was closed and GitHub does not open it again: %s. Next: look at %s",
			there.GetNumber(), want.Head, says(err), there.GetHTMLURL()).WithCause(err)
	}
	return changed, r.told(err, "change the pull request of "+want.Head)
}

func marked(body string) string {
	return markBegin + "\n" + strings.TrimSpace(body) + "\n" + markEnd + "\n"
}

// merged puts the new text in place of the old one. Where a person removed the marks, nothing is changed.
func merged(old, body string) string {
	begin, end := strings.Index(old, markBegin), strings.Index(old, markEnd)
	switch {
	case strings.TrimSpace(old) == "":
		return marked(body)
	case begin < 0 || end < begin:
		return old
	}
	return old[:begin] + strings.TrimSuffix(marked(body), "\n") + old[end+len(markEnd):]
}

func pullOf(p *gh.PullRequest) scm.PullRequest {
	state := p.GetState()
	if p.MergedAt != nil {
		state = "merged"
	}
	return scm.PullRequest{
		Number: p.GetNumber(), URL: p.GetHTMLURL(), Title: p.GetTitle(), Body: p.GetBody(),
		Head: p.GetHead().GetRef(), Base: p.GetBase().GetRef(), State: state,
	}
}
