package github_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
	githubtest "github.com/omoi-dev/omoi/internal/testkit/github"
)

func gitStdin(t *testing.T, dir, in string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

func TestPush_Repeated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, head := b.work("t1")
	dir := b.sandbox(branch.Name)
	// Whole history, then new commits only.
	for _, revs := range [][]string{{branch.Name}, {branch.Base + ".." + branch.Name}} {
		got, err := b.host.Push(t.Context(), repo, branch.Name, b.bundle(dir, revs...))
		require.NoError(t, err)
		require.Equal(t, head, got)
	}
	require.Equal(t, head, b.head("refs/heads/"+branch.Name))
	ahead, err := b.host.Ahead(t.Context(), repo, "", branch.Name)
	require.NoError(t, err)
	require.Equal(t, 1, ahead)
	b.leavesNothing()
}

func TestPush_AfterForcePush(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	dir := b.sandbox(branch.Name)
	b.commit(dir, "agent.txt", "agent")
	person := b.person(branch.Name)
	git(t, person, "commit", "--quiet", "--amend", "-m", "rewritten")
	git(t, person, "push", "--quiet", "--force", "origin", branch.Name)
	theirs := b.head("refs/heads/" + branch.Name)
	_, err := b.host.Push(t.Context(), repo, branch.Name, b.bundle(dir, branch.Name))
	requireCode(t, task.CodeConflict, err)
	require.Contains(t, task.MessageOf(err), "another user pushed to it")
	require.NotContains(t, task.MessageOf(err), b.temp)
	require.Equal(t, theirs, b.head("refs/heads/"+branch.Name))

	ref, err := b.host.Rescue(t.Context(), repo, "t1/1", b.bundle(dir, branch.Name))
	require.NoError(t, err)
	require.Equal(t, "refs/omoi/rescue/t1/1", ref)
	require.Equal(t, git(t, dir, "rev-parse", "HEAD"), b.head(ref))
	b.leavesNothing()
}

func TestPush_RestoresDeletedBranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	dir := b.sandbox(branch.Name)
	head := b.commit(dir, "agent.txt", "agent")
	git(t, b.bare, "update-ref", "-d", "refs/heads/"+branch.Name)
	got, err := b.host.Push(t.Context(), repo, branch.Name, b.bundle(dir, branch.Base+".."+branch.Name))
	require.NoError(t, err)
	require.Equal(t, head, got)
	require.Equal(t, head, b.head("refs/heads/"+branch.Name))
}

func TestPush_ProtectedBranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	require.NoError(t, b.server.Protect(string(repo), branch.Name))
	dir := b.sandbox(branch.Name)
	b.commit(dir, "agent.txt", "agent")
	_, err := b.host.Push(t.Context(), repo, branch.Name, b.bundle(dir, branch.Name))
	requireCode(t, task.CodeConflict, err)
	require.Contains(t, task.MessageOf(err), "GH006")
	require.Contains(t, task.MessageOf(err), "settings/rules")
}

func TestRescue_KeepsEarlierWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	dir := b.sandbox(branch.Name)
	for n, want := range []string{"refs/omoi/rescue/t1/1", "refs/omoi/rescue/t1/1-2"} {
		git(t, dir, "update-ref", "refs/omoi/rescue", b.commit(dir, "agent.txt", strings.Repeat("x", n+1)))
		for range 2 {
			ref, err := b.host.Rescue(t.Context(), repo, "t1/1", b.bundle(dir, branch.Base+"..refs/omoi/rescue"))
			require.NoError(t, err)
			require.Equal(t, want, ref)
		}
	}
}

func TestPush_DamagedBundle(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	_, err := b.host.Push(t.Context(), repo, branch.Name, strings.NewReader("no bundle"))
	requireCode(t, task.CodeInvalid, err)
	require.Equal(t, branch.Base, b.head("refs/heads/"+branch.Name))
}

func TestBundle_HTTPStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		code   task.Code
	}{{400, task.CodeInvalid}, {413, task.CodeInvalid}, {401, task.CodeForbidden}, {403, task.CodeForbidden}, {404, task.CodeInvalid}, {429, task.CodeExhausted}, {502, task.CodeUnavailable}} {
		b := setup(t)
		branch := b.ensure("t1")
		b.breakGit(c.status)
		err := b.host.Bundle(t.Context(), repo, branch.Name, "", io.Discard)
		requireCode(t, c.code, err)
		require.NotContains(t, err.Error(), token)
		if c.status == http.StatusRequestEntityTooLarge {
			require.Contains(t, task.MessageOf(err), "rejected the request with HTTP 413. Next: ")
		}
		if c.code == task.CodeExhausted {
			require.Positive(t, task.AfterOf(err))
		}
	}
}

func TestBundle_MissingBranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	requireCode(t, task.CodeInvalid, b.host.Bundle(t.Context(), repo, "feature/none", "", io.Discard))
	requireCode(t, task.CodeInvalid, b.host.Diff(t.Context(), repo, "", "feature/none", io.Discard))
	b.leavesNothing()
}

// TestStatus_NameOutsideOfRepository checks that a branch name cannot address another repository.
func TestStatus_NameOutsideOfRepository(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.server.Add("acme/other")
	require.NoError(t, err)
	b.server.Grant(token, "acme/other", "push")
	_, err = b.host.Status(t.Context(), repo, "../../../../other/git/ref/heads/main")
	requireCode(t, task.CodeInvalid, err)
	require.Empty(t, b.server.Calls())
}

func TestDiff(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch, _ := b.work("t1")
	for _, base := range []string{"", "main", branch.Base} {
		var diff bytes.Buffer
		require.NoError(t, b.host.Diff(t.Context(), repo, base, branch.Name, &diff))
		require.Contains(t, diff.String(), "+hello")
	}
}

func TestCheck_NoTokenOfTheUser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.host.As(scm.Owner{UserID: "somebody else"})
	requireCode(t, task.CodeForbidden, other.Check(t.Context(), repo))
	require.Empty(t, b.server.Calls(), "nobody was asked")
}

// TestTheTokenIsInNoCommandLineOrEnvironment reads /proc of all processes while git contacts the server (P8).
func TestTheTokenIsInNoCommandLineOrEnvironment(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("SKIPPED: no /proc to look at processes")
	}
	b := setup(t)
	var looked atomic.Int32
	b.server.Watch(func(string) {
		files, _ := filepath.Glob("/proc/[0-9]*/[ce][mn][dv][li][ir]*")
		for _, file := range files { // cmdline and environ
			raw, err := os.ReadFile(file)
			if err == nil && bytes.Contains(raw, []byte(token)) {
				t.Errorf("the token is in %s", file)
			}
		}
		looked.Add(1)
	})
	branch, _ := b.work("t1")
	b.pull(branch.Name, "text")
	require.Greater(t, looked.Load(), int32(10))
	for _, name := range []string{"t1.txt", "README.md"} {
		require.NotContains(t, git(t, b.bare, "show", branch.Name+":"+name), token)
	}
}

// TestAnotherServerIsNotGivenTheToken redirects git to another server, as for a renamed repository.
func TestAnotherServerIsNotGivenTheToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	var shown atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			shown.Add(1)
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="elsewhere"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(other.Close)
	b.server.Break(githubtest.Fault{Call: "GET info/refs", Max: 10, Status: http.StatusFound, Location: other.URL + "/acme/app.git/info/refs?service=git-upload-pack"})
	requireCode(t, task.CodeForbidden, b.host.Bundle(t.Context(), repo, branch.Name, "", io.Discard))
	b.server.Break(githubtest.Fault{Call: "GET app", Status: http.StatusFound, Location: other.URL + "/api/v3/repos/acme/app"})
	require.Error(t, b.host.Check(t.Context(), repo))
	require.Zero(t, shown.Load())
}
