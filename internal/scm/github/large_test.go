package github_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/github"
	"github.com/omoi-dev/omoi/internal/scm/tempdir"
	"github.com/omoi-dev/omoi/internal/task"
)

// metered returns the host behind a proxy that counts the bytes that the server sends.
func (b *bench) metered(history scm.History) (*github.Host, *atomic.Int64) {
	b.t.Helper()
	to, err := url.Parse(b.server.URL)
	require.NoError(b.t, err)
	var bytes atomic.Int64
	next := httputil.NewSingleHostReverseProxy(to)
	next.ModifyResponse = func(r *http.Response) error {
		r.Body = &meter{r.Body, &bytes}
		return nil
	}
	proxy := httptest.NewServer(next)
	b.t.Cleanup(proxy.Close)
	hub, err := github.New(github.Config{URL: proxy.URL, Scratch: tempdir.Open(b.temp), History: history}, users{who: token})
	require.NoError(b.t, err)
	return hub.As(scm.Owner{UserID: who}), &bytes
}

type meter struct {
	io.ReadCloser

	bytes *atomic.Int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.bytes.Add(int64(n))
	return n, err
}

// grow adds commits to a branch, each with an incompressible file of 10 kB.
func (b *bench) grow(branch, from string, commits int) {
	b.t.Helper()
	b.growAt(b.bare, branch, from, commits)
}

func (b *bench) growAt(dir, branch, from string, commits int) {
	b.t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(len(branch))))
	var in strings.Builder
	for n := range commits {
		noise := make([]byte, 10_000)
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		fmt.Fprintf(&in, "commit refs/heads/%s\ncommitter p <p@example.invalid> %d +0000\ndata 1\nx\n", branch, 1_700_000_000+n)
		if n == 0 && from != "" {
			fmt.Fprintf(&in, "from %s\n", from)
		}
		fmt.Fprintf(&in, "M 100644 inline big/%s-%d.bin\ndata %d\n%s\n", strings.ReplaceAll(branch, "/", "-"), n, len(noise), noise)
	}
	gitStdin(b.t, dir, in.String(), "fast-import", "--quiet")
}

// TestRescue_FetchesNeededCommitsOnly checks the bytes that a rescue fetches of a large repository.
func TestRescue_FetchesNeededCommitsOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.grow("main", b.head("main"), 400) // 4 MB
	branch := b.conflicting()
	b.grow("feature/anothers", b.head("main~100"), 300) // 3 MB
	host, bytes := b.metered(scm.History{})

	dir := b.sandbox(branch)
	base := git(t, dir, "rev-parse", "HEAD")
	git(t, dir, "update-ref", "refs/omoi/rescue", b.commit(dir, "half.txt", "not committed"))
	ref, err := host.Rescue(t.Context(), repo, "t1/1", b.bundle(dir, base+"..refs/omoi/rescue"))
	require.NoError(t, err)
	require.Equal(t, git(t, dir, "rev-parse", "refs/omoi/rescue"), b.head(ref))
	require.Less(t, bytes.Swap(0), int64(5_000_000), "of other branches nothing is fetched")
	b.leavesNothing()
}

// TestPush_LargeWork pushes more than a megabyte, which git sends in chunks.
func TestPush_LargeWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	dir := b.sandbox(branch.Name)
	b.growAt(dir, "large", branch.Base, 500) // 5 MB
	git(t, dir, "merge", "--quiet", "large")
	head, err := b.host.Push(t.Context(), repo, branch.Name, b.bundle(dir, branch.Name))
	require.NoError(t, err)
	require.Equal(t, git(t, dir, "rev-parse", "HEAD"), head)
	require.Equal(t, head, b.head("refs/heads/"+branch.Name))
	b.leavesNothing()
}

// TestPush_FalsePrerequisites checks that a bundle with false prerequisites changes nothing.
func TestPush_FalsePrerequisites(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	head := "# v2 git bundle\n" + strings.Repeat("-0123456789012345678901234567890123456789 x\n", 60) + "-../../x y\n"
	_, err := b.host.Push(t.Context(), repo, branch.Name, strings.NewReader(head+b.head("main")+" refs/heads/"+branch.Name+"\n\nPACK"))
	require.Error(t, err)
	require.Equal(t, branch.Base, b.head("refs/heads/"+branch.Name))
	b.leavesNothing()
}

// TestPush_ReplacedRepository checks that a repository which replaced another of the same name gets no work of the old
// one.
func TestPush_ReplacedRepository(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.grow("main", b.head("main"), 3)
	branch := b.ensure("t1")
	dir := b.sandbox(branch.Name)
	b.commit(dir, "agent.txt", "agent")
	require.NoError(t, os.RemoveAll(b.bare))
	_, err := b.server.Add(string(repo))
	require.NoError(t, err)
	git(t, b.bare, "branch", branch.Name, "main")
	_, err = b.host.Push(t.Context(), repo, branch.Name, b.bundle(dir, branch.Base+".."+branch.Name))
	requireCode(t, task.CodeInvalid, err)
	b.leavesNothing()
}

// TestPush_FetchesNewestCommitsOnly checks that a push fetches no more history than the work builds on.
func TestPush_FetchesNewestCommitsOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.grow("main", b.head("main"), 100)
	person := b.person("main")
	git(t, person, "rm", "--quiet", "-r", "big")
	git(t, person, "commit", "--quiet", "-m", "Remove what is large")
	for n := range 60 {
		git(t, person, "commit", "--quiet", "--allow-empty", "-m", strconv.Itoa(n))
	}
	git(t, person, "push", "--quiet", "origin", "main")
	branch := b.ensure("t1")
	dir := b.sandbox(branch.Name)
	require.Equal(t, git(t, b.bare, "rev-list", "--count", "main"), git(t, dir, "rev-list", "--count", "HEAD"), "a sandbox has all of it")
	for n := range 60 {
		b.commit(dir, "agent-"+strconv.Itoa(n), "agent")
	}
	host, bytes := b.metered(scm.History{})
	// The second bundle, with all history, is a retry after a lost answer.
	for _, revs := range []string{branch.Base + ".." + branch.Name, branch.Name} {
		head, err := host.Push(t.Context(), repo, branch.Name, b.bundle(dir, revs))
		require.NoError(t, err)
		require.Equal(t, head, b.head("refs/heads/"+branch.Name))
	}
	ref, err := host.Rescue(t.Context(), repo, "t1/1", b.bundle(dir, branch.Base+".."+branch.Name))
	require.NoError(t, err)
	require.Equal(t, b.head("refs/heads/"+branch.Name), b.head(ref))
	require.Less(t, bytes.Load(), int64(little))
	git(t, b.bare, "fsck", "--strict")
	b.leavesNothing()
}
