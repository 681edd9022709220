package github_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
	githubtest "github.com/omoi-dev/omoi/internal/testkit/github"
)

// TestPack_OfADeletedBranch fetches a commit that only the ref of omoi holds, as after a merge.
func TestPack_OfADeletedBranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	dir := b.sandbox(branch.Name)
	commit := b.commit(dir, "agent.txt", "agent\n")
	_, err := b.host.Push(t.Context(), repo, branch.Name, b.bundle(dir, branch.Name))
	require.NoError(t, err)
	git(t, b.bare, "update-ref", "-d", "refs/heads/"+branch.Name)

	var pack bytes.Buffer
	require.NoError(t, b.host.Pack(t.Context(), repo, []string{branch.Base, commit}, 1<<30, &pack))
	got := filepath.Join(t.TempDir(), "got.git")
	git(t, "", "init", "--quiet", "--bare", got)
	file := filepath.Join(got, "objects", "pack", "in.pack")
	require.NoError(t, os.WriteFile(file, pack.Bytes(), 0o600))
	git(t, got, "index-pack", file)
	require.Equal(t, "agent", git(t, got, "show", commit+":agent.txt"))
	require.NotEmpty(t, git(t, got, "ls-tree", branch.Base))

	require.ErrorIs(t, b.host.Pack(t.Context(), repo, []string{branch.Base, strings.Repeat("a", 40)}, 1<<30, io.Discard), scm.ErrNoCommit)
	b.server.Break(githubtest.Fault{Call: "GET info/refs", Max: 10, Status: 503, Message: "broken"})
	requireCode(t, task.CodeUnavailable, b.host.Pack(t.Context(), repo, []string{commit}, 1<<30, io.Discard))
	b.leavesNothing()
}

func TestPack_OfTooManyBytes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	dir := b.sandbox(branch.Name)
	content := make([]byte, 2<<20)
	_, _ = rand.Read(content)
	commit := b.commit(dir, "large.bin", string(content))
	_, err := b.host.Push(t.Context(), repo, branch.Name, b.bundle(dir, branch.Name))
	require.NoError(t, err)
	var pack bytes.Buffer
	require.ErrorIs(t, b.host.Pack(t.Context(), repo, []string{commit}, 1<<20, &pack), scm.ErrTooLarge)
	require.Zero(t, pack.Len())
	require.NoError(t, b.host.Pack(t.Context(), repo, []string{commit}, 4<<20, &pack))
	require.Greater(t, pack.Len(), 2<<20)
	b.leavesNothing()
}
