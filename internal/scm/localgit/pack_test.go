package localgit_test

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
	"github.com/omoi-dev/omoi/internal/scm/localgit"
	"github.com/omoi-dev/omoi/internal/task"
)

// unpacked returns a bare repository with the objects of a pack.
func unpacked(t *testing.T, pack io.Reader) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "packed.git")
	git(t, "", "init", "--quiet", "--bare", dir)
	content, err := io.ReadAll(pack)
	require.NoError(t, err)
	file := filepath.Join(dir, "objects", "pack", "in.pack")
	require.NoError(t, os.WriteFile(file, content, 0o600))
	git(t, dir, "index-pack", file)
	return dir
}

func TestPack_HasCommitsWithFilesAndNewestHistory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host = localgit.New(localgit.Config{History: scm.History{Depth: 2}})
	first := b.commit(b.path, "a.txt", "a\n")
	second := b.commit(b.path, "b.txt", "b\n")
	third := b.commit(b.path, "c.txt", "c\n")
	git(t, b.path, "switch", "--quiet", "--detach", first)
	other := b.commit(b.path, "d.txt", "d\n") // no branch has it
	git(t, b.path, "switch", "--quiet", "main")
	var pack bytes.Buffer
	require.NoError(t, b.host.Pack(t.Context(), b.repo, []string{third, other}, 1<<30, &pack))
	dir := unpacked(t, &pack)
	require.Equal(t, "a\nb\nc", git(t, dir, "show", third+":a.txt", third+":b.txt", third+":c.txt"))
	require.Equal(t, "d", git(t, dir, "show", other+":d.txt"))
	require.Equal(t, "b", git(t, dir, "show", second+":b.txt"), "two commits of history")
	require.NotContains(t, git(t, dir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"), git(t, b.path, "rev-parse", first+"^"))
}

func TestPack_OfAnUnknownCommit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	err := b.host.Pack(t.Context(), b.repo, []string{b.head("main"), strings.Repeat("a", 40)}, 1<<30, io.Discard)
	require.ErrorIs(t, err, scm.ErrNoCommit)
	err = b.host.Pack(t.Context(), scm.Repo(t.TempDir()), []string{b.head("main")}, 1<<30, io.Discard)
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
}

func TestPack_OfTooManyBytes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	content := make([]byte, 2<<20)
	_, _ = rand.Read(content)
	commit := b.commit(b.path, "large.bin", string(content))
	require.ErrorIs(t, b.host.Pack(t.Context(), b.repo, []string{commit}, 1<<20, io.Discard), scm.ErrTooLarge)
	require.NoError(t, b.host.Pack(t.Context(), b.repo, []string{commit}, 4<<20, io.Discard))
}
