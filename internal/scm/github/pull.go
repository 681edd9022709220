package github

import (
	"context"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v66/github"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// markBegin and markEnd enclose omoi's part of the body of a pull request. omoi changes no other part.
const (
	markBegin = "<!-- omoi:begin -->"
	markEnd   = "<!-- omoi:end -->"
)

// EnsurePull returns the pull request of a head branch. EnsurePull adopts an open one and reopens a closed one.
// EnsurePull creates a pull request if none exists, or if the last one was merged without the newest commits.
// EnsurePull updates omoi's part of the body of an existing one.
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
	// Created by a call whose answer was lost, or not in the list yet.
	if statusOf(err) == http.StatusUnprocessableEntity {
		if there, lerr := r.pullFor(ctx, pull.Head, commit); lerr != nil || there != nil {
			return r.refresh(ctx, there, pull, lerr)
		}
	}
	return made, r.told(err, "open a pull request for "+pull.Head)
}

// pullFor returns the pull request of a branch, nil if the branch needs a new one.
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
		if p.GetHead().GetRef() != branch { // the server ignores the filter
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
		return nil, nil //nolint:nilnil // the new commits need another pull request
	}
	return last, nil
}

// refresh updates the body of a pull request, and reopens it if a user closed it.
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

// merged returns the body old with omoi's part replaced. A body without the marks stays unchanged: a user removed them.
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
