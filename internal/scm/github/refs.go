package github

import (
	"context"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v66/github"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	headsRefs  = "refs/heads/"
	seenRefs   = "refs/omoi/heads/"
	tasksRefs  = "refs/omoi/tasks/"
	rescueRefs = "refs/omoi/rescue/"
	pageSize   = 100
)

// ref returns the commit of a ref, "" if the ref does not exist.
func (r *repository) ref(ctx context.Context, name string) (string, error) {
	if strings.Contains(name, "..") { // invalid in Git, and the request would leave the repository
		return "", nil
	}
	found, _, err := r.api.Git.GetRef(ctx, r.owner, r.name, name)
	switch status := statusOf(err); {
	case err == nil:
		return found.GetObject().GetSHA(), nil
	case status == http.StatusNotFound:
		return "", nil
	case status == http.StatusConflict: // the repository has no commits
		return "", r.empty(err)
	}
	return "", r.told(err, "look at "+name)
}

func (r *repository) empty(cause error) error {
	return task.Invalid("repo", "Repository %s has no branches: it has no commits yet. Next: make a first commit at %s", r.full(), r.page("")).WithCause(cause)
}

// refs returns the refs that begin with prefix, and their commits.
func (r *repository) refs(ctx context.Context, prefix string) (map[string]string, error) {
	all, opts := map[string]string{}, &gh.ReferenceListOptions{Ref: strings.TrimPrefix(prefix, "refs/"), ListOptions: gh.ListOptions{PerPage: pageSize}}
	for {
		found, page, err := r.api.Git.ListMatchingRefs(ctx, r.owner, r.name, opts)
		if err != nil {
			return nil, r.told(err, "list "+prefix)
		}
		for _, one := range found {
			all[one.GetRef()] = one.GetObject().GetSHA()
		}
		if page.NextPage == 0 {
			return all, nil
		}
		opts.Page = page.NextPage
	}
}

// create creates a ref and returns its commit. If the ref exists already, create returns the existing commit.
func (r *repository) create(ctx context.Context, name, commit string) (string, error) {
	_, _, err := r.api.Git.CreateRef(ctx, r.owner, r.name, &gh.Reference{Ref: &name, Object: &gh.GitObject{SHA: &commit}})
	if err == nil {
		return commit, nil
	}
	if statusOf(err) == http.StatusUnprocessableEntity { // created by a call whose answer was lost
		if there, rerr := r.ref(ctx, name); rerr != nil || there != "" {
			return there, rerr
		}
	}
	return "", r.told(err, "make "+name)
}

// remove deletes a ref. A missing ref is a success.
func (r *repository) remove(ctx context.Context, name string) error {
	_, err := r.api.Git.DeleteRef(ctx, r.owner, r.name, name)
	if status := statusOf(err); status == http.StatusNotFound || status == http.StatusUnprocessableEntity {
		if there, rerr := r.ref(ctx, name); rerr == nil && there == "" {
			return nil
		}
	}
	return r.told(err, "delete "+name)
}

// point is a branch and its commit.
type point struct{ name, commit string }

// source returns the start of new branches: the branch from, else the default branch, else the first of
// [scm.UsualBranches], else the first branch. A repository that omoi cannot push to is an error.
func (r *repository) source(ctx context.Context, from string) (point, error) {
	found, err := r.look(ctx)
	if err != nil {
		return point{}, err
	}
	if from != "" {
		return r.mustExist(ctx, from)
	}
	for _, name := range slices.Concat([]string{found.GetDefaultBranch()}, scm.UsualBranches()) {
		if name == "" {
			continue
		}
		if commit, err := r.ref(ctx, headsRefs+name); err != nil || commit != "" {
			return point{name, commit}, err
		}
	}
	some, _, err := r.api.Repositories.ListBranches(ctx, r.owner, r.name, nil)
	if err != nil {
		return point{}, r.told(err, "list the branches")
	}
	if len(some) == 0 {
		return point{}, r.empty(nil)
	}
	return point{some[0].GetName(), some[0].GetCommit().GetSHA()}, nil
}

// mustExist returns a branch with its commit. A missing branch is [task.CodeInvalid].
func (r *repository) mustExist(ctx context.Context, branch string) (point, error) {
	commit, err := r.ref(ctx, headsRefs+branch)
	if err == nil && commit == "" {
		err = task.Invalid("branch", "Repository %s has no branch %q. Next: see %s", r.full(), branch, r.page("branches"))
	}
	return point{branch, commit}, err
}
