package github_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/github"
	"github.com/omoi-dev/omoi/internal/scm/tempdir"
	"github.com/omoi-dev/omoi/internal/task"
	githubtest "github.com/omoi-dev/omoi/internal/testkit/github"
)

const (
	repo  = scm.Repo("acme/app")
	token = "ghp_theTokenOfTheTests0123456789"
	who   = "user-1"
)

// bench is an emulator with one repository, and the host under test.
type bench struct {
	t      *testing.T
	server *githubtest.Server
	host   *github.Host
	bare   string // folder of the repository
	temp   string // folder of the temporary copies
	key    string // key of the tasks; empty: none
}

// users maps user IDs to tokens.
type users map[string]string

func (u users) Token(_ context.Context, userID, _ string) (token string, own, ours bool, err error) {
	if u[userID] == "" {
		return "", false, false, task.Errorf(task.CodeUnauthorized, "no token")
	}
	return u[userID], true, false, nil
}

func setup(t *testing.T) *bench {
	t.Helper()
	server, err := githubtest.Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	b := &bench{t: t, server: server, temp: t.TempDir()}
	b.bare, err = server.Add(string(repo))
	require.NoError(t, err)
	server.Grant(token, string(repo), "push")
	hub, err := github.New(github.Config{URL: server.URL, Scratch: tempdir.Open(b.temp)}, users{who: token})
	require.NoError(t, err)
	b.host = hub.As(scm.Owner{UserID: who})
	return b
}

// git runs git as a user would, without the settings of the machine's user.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.invalid", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.invalid")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func (b *bench) request(taskID string) scm.BranchRequest {
	return scm.BranchRequest{Repo: repo, Key: b.key, TicketID: "ticket", Title: "Say hello", TaskID: taskID}
}

func (b *bench) ensure(taskID string) scm.Branch {
	b.t.Helper()
	branch, err := b.host.EnsureBranch(b.t.Context(), b.request(taskID))
	require.NoError(b.t, err)
	return branch
}

func (b *bench) head(ref string) string {
	b.t.Helper()
	return git(b.t, b.bare, "rev-parse", ref)
}

// branches returns the branches of the repository except main.
func (b *bench) branches() []string {
	b.t.Helper()
	out := git(b.t, b.bare, "for-each-ref", "--format=%(refname:short)", "refs/heads/")
	var all []string
	for name := range strings.FieldsSeq(out) {
		if name != "main" {
			all = append(all, name)
		}
	}
	return all
}

func (b *bench) sandbox(branch string) string {
	b.t.Helper()
	dir, err := b.trySandbox(branch)
	require.NoError(b.t, err)
	return dir
}

// trySandbox clones the branch from the host's own bundle, as an agent gets it.
func (b *bench) trySandbox(branch string) (string, error) {
	b.t.Helper()
	var bundle bytes.Buffer
	if err := b.host.Bundle(b.t.Context(), repo, branch, "", &bundle); err != nil {
		return "", err
	}
	dir := b.t.TempDir()
	file := filepath.Join(dir, "in.bundle")
	require.NoError(b.t, os.WriteFile(file, bundle.Bytes(), 0o600))
	git(b.t, "", "clone", "--quiet", "--branch", branch, file, filepath.Join(dir, "work"))
	return filepath.Join(dir, "work"), nil
}

// person clones the repository as a user who pushes by hand.
func (b *bench) person(branch string) string {
	b.t.Helper()
	dir := filepath.Join(b.t.TempDir(), "work")
	git(b.t, "", "clone", "--quiet", "--branch", branch, b.bare, dir)
	return dir
}

func (b *bench) commit(dir, file, content string) string {
	b.t.Helper()
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600))
	git(b.t, dir, "add", "--", file)
	git(b.t, dir, "commit", "--quiet", "-m", "Write "+file)
	return git(b.t, dir, "rev-parse", "HEAD")
}

// bundle packs revisions of a sandbox's repository.
func (b *bench) bundle(dir string, revs ...string) io.Reader {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "out.bundle")
	git(b.t, dir, append([]string{"bundle", "create", "--quiet", file}, revs...)...)
	raw, err := os.ReadFile(file)
	require.NoError(b.t, err)
	return bytes.NewReader(raw)
}

// work creates the branch of a task and pushes one commit to it.
func (b *bench) work(taskID string) (branch scm.Branch, head string) {
	b.t.Helper()
	branch = b.ensure(taskID)
	dir := b.sandbox(branch.Name)
	want := b.commit(dir, taskID+".txt", "hello\n")
	head, err := b.host.Push(b.t.Context(), repo, branch.Name, b.bundle(dir, branch.Base+".."+branch.Name))
	require.NoError(b.t, err)
	require.Equal(b.t, want, head)
	return branch, head
}

func requireCode(t *testing.T, want task.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, task.CodeOf(err), err.Error())
}

// leavesNothing checks that no copy is left, and that no file contains the token.
func (b *bench) leavesNothing() {
	b.t.Helper()
	left, err := filepath.Glob(filepath.Join(b.temp, "*", "*"))
	require.NoError(b.t, err)
	require.Empty(b.t, left)
}

// breakGit makes the server answer git's next calls with a status.
func (b *bench) breakGit(status int) {
	b.server.Break(githubtest.Fault{Call: "GET info/refs", Max: 10, Status: status, Message: "broken"})
}
