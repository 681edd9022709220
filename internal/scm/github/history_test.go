package github_test

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/workspace"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/github"
	"github.com/omoi-dev/omoi/internal/task"
	githubtest "github.com/omoi-dev/omoi/internal/testkit/github"
)

const little = 200_000 // maximum bytes to transfer; the history of these tests has at least 1 MB

// large is a repository of more than 1 MB. Its host cuts the history of repositories above 100 kB.
type large struct {
	*bench

	host  *github.Host
	bytes *atomic.Int64
}

func setupLarge(t *testing.T) *large {
	t.Helper()
	l := &large{bench: setup(t)}
	l.grow("main", l.head("main"), 100)
	l.host, l.bytes = l.metered(scm.History{Whole: 100_000, Depth: 5})
	return l
}

// box creates a sandbox's repository from the host's bundle, as omoi-agent does. box returns the work tree and the
// bytes that the server sent.
func (l *large) box(branch scm.Branch) (work string, sent int64) {
	l.t.Helper()
	l.bytes.Store(0)
	var bundle bytes.Buffer
	require.NoError(l.t, l.host.Bundle(l.t.Context(), repo, branch.Name, branch.Base, &bundle))
	dir := l.t.TempDir()
	in := agentconfig.Repo{Branch: branch.Name, Base: branch.Base, Bundle: filepath.Join(dir, "in.bundle")}
	require.NoError(l.t, os.WriteFile(in.Bundle, bundle.Bytes(), 0o600))
	work = filepath.Join(dir, "work")
	err := workspace.Prepare(l.t.Context(), dir, work, &in)
	require.NoError(l.t, err)
	git(l.t, work, "fsck", "--strict")
	require.Equal(l.t, l.head("refs/heads/"+branch.Name), git(l.t, work, "rev-parse", "HEAD"))
	return work, l.bytes.Load()
}

func TestCutHistory(t *testing.T) {
	t.Parallel()
	l := setupLarge(t)
	// Each commit adds a file of 10 kB, so a tree is as large as its history; shrink removes these files.
	l.shrink()
	branch := l.ensure("t1")
	work, sent := l.box(branch)
	require.Less(t, sent, int64(little))
	require.Equal(t, "5", git(t, work, "rev-list", "--count", "HEAD"))

	for n := range 8 { // more commits than the depth of the history
		l.commit(work, "agent-"+strconv.Itoa(n), "agent")
	}
	l.bytes.Store(0)
	head, err := l.host.Push(t.Context(), repo, branch.Name, l.bundle(work, branch.Base+".."+branch.Name))
	require.NoError(t, err)
	require.Equal(t, head, l.head("refs/heads/"+branch.Name))
	again, err := l.host.Push(t.Context(), repo, branch.Name, l.bundle(work, branch.Base+".."+branch.Name))
	require.NoError(t, err, "an answer was lost")
	require.Equal(t, head, again)
	ref, err := l.host.Rescue(t.Context(), repo, "t1/1", l.bundle(work, branch.Base+".."+branch.Name))
	require.NoError(t, err)
	require.Equal(t, head, l.head(ref))
	require.Less(t, l.bytes.Load(), int64(little))
	git(t, l.bare, "fsck", "--strict")

	second, sent := l.box(branch)
	require.Less(t, sent, int64(little))
	require.Equal(t, "8", git(t, second, "rev-list", "--count", branch.Base+"..HEAD"))
	l.leavesNothing()
}

// shrink removes the large files from the newest commits of main.
func (l *large) shrink() {
	l.t.Helper()
	work := l.person("main")
	git(l.t, work, "rm", "--quiet", "-r", "big")
	git(l.t, work, "commit", "--quiet", "-m", "Remove what is large")
	for n := range 10 {
		l.commit(work, "small-"+strconv.Itoa(n), "small")
	}
	git(l.t, work, "push", "--quiet", "origin", "main")
}

// TestPush_DivergedWithCutHistory checks that a push with a cut history overwrites no commits of another user.
func TestPush_DivergedWithCutHistory(t *testing.T) {
	t.Parallel()
	l := setupLarge(t)
	branch := l.ensure("t1")
	work, _ := l.box(branch)
	l.commit(work, "agent.txt", "agent")
	other := l.person(branch.Name)
	theirs := l.commit(other, "other.txt", "other")
	git(t, other, "push", "--quiet", "origin", branch.Name)
	_, err := l.host.Push(t.Context(), repo, branch.Name, l.bundle(work, branch.Base+".."+branch.Name))
	require.ErrorIs(t, err, scm.ErrMoved)
	require.Equal(t, theirs, l.head("refs/heads/"+branch.Name))
	ref, err := l.host.Rescue(t.Context(), repo, "t1/1", l.bundle(work, branch.Base+".."+branch.Name))
	require.NoError(t, err)
	require.Equal(t, git(t, work, "rev-parse", "HEAD"), l.head(ref))
	l.leavesNothing()
}

// TestBundle_SizeUnknown checks that a failed request for the size or the branch length is an error, not another depth.
func TestBundle_SizeUnknown(t *testing.T) {
	t.Parallel()
	l := setupLarge(t)
	branch := l.ensure("t1")
	for _, skip := range []int{0, 1} {
		l.server.Break(githubtest.Fault{Call: "GET", Skip: skip, Max: 1, Status: http.StatusBadGateway, Message: "away"})
		l.bytes.Store(0)
		requireCode(t, task.CodeUnavailable, l.host.Bundle(t.Context(), repo, branch.Name, branch.Base, new(bytes.Buffer)))
		require.Less(t, l.bytes.Load(), int64(little))
	}
	l.box(branch)
}

// TestBundle_OmitsRemovedCommits force-pushes main: a later sandbox does not get the removed commit.
func TestBundle_OmitsRemovedCommits(t *testing.T) {
	t.Parallel()
	l := setupLarge(t)
	l.shrink()
	person := l.person("main")
	before := git(t, person, "rev-parse", "HEAD")
	l.commit(person, "key.pem", "a private key")
	for n := range 5 {
		l.commit(person, "more-"+strconv.Itoa(n), "more")
	}
	git(t, person, "push", "--quiet", "origin", "main")
	work, _ := l.box(l.ensure("t1"))
	cut := git(t, work, "rev-list", "--max-parents=0", "HEAD")
	git(t, work, "cat-file", "-e", cut+":key.pem")
	git(t, person, "reset", "--quiet", "--hard", before)
	l.commit(person, "clean", "clean")
	git(t, person, "push", "--quiet", "--force", "origin", "main")
	work, _ = l.box(l.ensure("t2"))
	require.Error(t, exec.CommandContext(t.Context(), "git", "-C", work, "cat-file", "-e", cut).Run())
	require.Len(t, strings.Fields(l.read(filepath.Join(filepath.Dir(work), workspace.OriginName, "shallow"))), 1)
}

func (l *large) read(path string) string {
	l.t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(l.t, err)
	return string(raw)
}
