package activities_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// fakeHost is a git host with one repository.
type fakeHost struct {
	faults

	checkErr   error
	diff       string
	aheadErr   error
	aheadOf    string
	pushErr    error
	rescueErr  error
	bundleErr  error
	promoteErr error
	ahead      int
	diffOf     string // base of the newest diff
	diffErr    error
	branches   map[string]string // by task
	requests   []scm.BranchRequest
	begins     map[string]string // commits, by branch
	checkedOut string            // branch
	heads      map[string]string // by branch
	rescued    map[string]string
	pulls      []scm.PullRequest
}

func (h *fakeHost) For(string, scm.Owner) (scm.Host, error) { return h, nil }

func (h *fakeHost) Check(context.Context, scm.Repo) error { return h.checkErr }
func (h *fakeHost) Head(context.Context, scm.Repo, string) (string, error) {
	return "", task.Invalid("branch", "No activity asks for a head.")
}

func (h *fakeHost) Diff(_ context.Context, _ scm.Repo, base, _ string, w io.Writer) error {
	h.diffOf = base
	if h.diffErr != nil {
		return h.diffErr
	}
	_, err := io.WriteString(w, h.diff)
	return err
}

func (h *fakeHost) Pack(context.Context, scm.Repo, []string, int64, io.Writer) error {
	return scm.ErrNoCommit
}

func (h *fakeHost) EnsureBranch(_ context.Context, req scm.BranchRequest) (scm.Branch, error) {
	h.requests = append(h.requests, req)
	name, ok := h.branches[req.TaskID]
	if !ok {
		name = fmt.Sprintf("feature/%s-%d", req.Key, len(h.branches)+1)
		h.branches[req.TaskID] = name
		h.begins = map[string]string{name: req.At}
	}
	err := h.call("branch")
	if name == h.checkedOut {
		err = task.Errorf(task.CodeConflict, "Branch %s is checked out.", name).WithCause(scm.ErrCheckedOut)
	}
	return scm.Branch{Name: name, Base: "base0", Head: cmp.Or(h.begins[name], "head0")}, err
}

func (h *fakeHost) Bundle(_ context.Context, _ scm.Repo, branch, _ string, w io.Writer) error {
	if h.bundleErr != nil {
		return h.bundleErr
	}
	_, err := io.WriteString(w, "# v2 git bundle\n"+strings.Repeat("a", 40)+" refs/heads/"+branch+"\n\n")
	return err
}

func (h *fakeHost) Push(_ context.Context, _ scm.Repo, branch string, r io.Reader) (string, error) {
	content, err := io.ReadAll(r)
	switch {
	case err != nil:
		return "", err
	case h.pushErr != nil:
		return "", h.pushErr
	}
	h.heads[branch] = string(content)
	return string(content), h.call("push")
}

func (h *fakeHost) Rescue(_ context.Context, _ scm.Repo, name string, r io.Reader) (string, error) {
	if h.rescueErr != nil {
		_, err := io.Copy(io.Discard, r)
		return "", cmp.Or(err, h.rescueErr)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return "", err
	}
	h.rescued[name] = string(content)
	return "refs/omoi/rescue/" + name, h.call("rescue")
}

func (h *fakeHost) Ahead(_ context.Context, _ scm.Repo, base, _ string) (int, error) {
	h.aheadOf = base
	return h.ahead, h.aheadErr
}

func (h *fakeHost) EnsurePull(_ context.Context, _ scm.Repo, pull scm.PullRequest) (scm.PullRequest, error) {
	for _, p := range h.pulls {
		if p.Head == pull.Head {
			return p, h.call("pull")
		}
	}
	pull.Number, pull.URL = len(h.pulls)+1, "local://pull/1"
	h.pulls = append(h.pulls, pull)
	return pull, h.call("pull")
}

func (h *fakeHost) RemoveEmptyBranch(context.Context, scm.Repo, string) error { return nil }

func (h *fakeHost) RemoveRefs(context.Context, scm.Repo, string) error { return nil }

func (s *fakeStore) MoveBranch(_ context.Context, _, was, branch string) error {
	s.work.Branch, s.work.EarlierBranches = branch, append(s.work.EarlierBranches, was)
	return s.call("move_branch")
}

func (s *fakeStore) CheckpointCommits(context.Context, string, checkpoint.ID) (checkpoint.Commits, error) {
	return s.points, nil
}

func (s *fakeStore) SaveBranchCommit(_ context.Context, _, commit string) error {
	s.bundled = commit
	return nil
}

// providers finds the one fake.
type providers map[string]sandbox.Provider

func (p providers) Provider(name string) (sandbox.Provider, error) {
	if one, ok := p[name]; ok {
		return one, nil
	}
	return nil, task.Errorf(task.CodeNotFound, "no provider %s", name)
}
