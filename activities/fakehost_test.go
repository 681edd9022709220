package activities_test

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/omoi-dev/omoi/internal/scm"
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
	diffOf     string            // base of the newest diff
	branches   map[string]string // by task
	heads      map[string]string // by branch
	rescued    map[string]string
	pulls      []scm.PullRequest
}

func (h *fakeHost) For(string, scm.Owner) (scm.Host, error) { return h, nil }

func (h *fakeHost) Check(context.Context, scm.Repo) error { return h.checkErr }
func (h *fakeHost) Diff(_ context.Context, _ scm.Repo, base, _ string, w io.Writer) error {
	h.diffOf = base
	_, err := io.WriteString(w, h.diff)
	return err
}

func (h *fakeHost) EnsureBranch(_ context.Context, req scm.BranchRequest) (scm.Branch, error) {
	name, ok := h.branches[req.TaskID]
	if !ok {
		name = fmt.Sprintf("feature/%s-%d", req.Key, len(h.branches)+1)
		h.branches[req.TaskID] = name
	}
	return scm.Branch{Name: name, Base: "base0", Head: "head0"}, h.call("branch")
}

func (h *fakeHost) Bundle(_ context.Context, _ scm.Repo, branch, _ string, w io.Writer) error {
	if h.bundleErr != nil {
		return h.bundleErr
	}
	_, err := io.WriteString(w, "bundle of "+branch)
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
