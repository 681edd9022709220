package salvage_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/workspace"
)

// pipe creates a named pipe in place of a file: a reader blocks forever.
func (p *place) pipe(name string) {
	p.t.Helper()
	path := filepath.Join(p.work, name)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
	_ = os.Remove(path)
	require.NoError(p.t, syscall.Mkfifo(path, 0o644))
}

// TestCollect_NamedPipes checks that a named pipe blocks neither git nor omoi-agent, and that all other work is saved.
func TestCollect_NamedPipes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"a/pipe", "README", ".gitignore", "a/.gitattributes", ".git/info/exclude", ".git/shallow", ".git/HEAD",
		".git/config", ".git/packed-refs", ".git/objects/info/alternates", ".git/refs/heads/x", ".git/refs/stash",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.commit("work")
			p.in(p.work, "push", "-q", "origin", "HEAD")
			p.pipe(name)
			p.file(p.work, "a/last", "words\n")
			p.cfg.Patience = time.Second
			got := p.collect()
			p.land(got)
			require.Equal(t, "words", p.landed("omoi/rescue", "a/last"))
			require.Equal(t, "work", p.landed("omoi/rescue", "work"))
		})
	}
}

// TestCollect_SettingsInAPipeElsewhere checks that the files are saved on top of the pushed commits if git reads
// settings from a pipe that cannot be removed.
func TestCollect_SettingsInAPipeElsewhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit("work")
	p.in(p.work, "push", "-q", "origin", "HEAD")
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o644))
	p.file(p.work, ".git/config", "[include]\n\tpath = "+pipe+"\n")
	p.file(p.work, "last", "words\n")
	p.cfg.Patience = time.Second
	got := p.collect()
	require.False(t, got.Repo)
	require.NotEmpty(t, got.Notes)
	p.land(got)
	require.Equal(t, "words", p.landed("omoi/rescue", "last"))
	require.Equal(t, "work", p.landed("heads/"+branch, "work"))
}

func TestCollect_InnerRepository(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	inner := filepath.Join(p.work, "inner")
	require.NoError(t, os.MkdirAll(inner, 0o755))
	p.in(inner, "init", "-q")
	p.file(inner, "one", "committed\n")
	p.in(inner, "add", "-A")
	p.in(inner, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
	p.file(inner, "deep/two", "not committed\n")
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(inner, "link")))
	got := p.collect()
	require.Equal(t, 3, got.Files)
	p.land(got)
	require.Equal(t, "committed", p.landed("omoi/rescue", "inner/one"))
	require.Equal(t, "not committed", p.landed("omoi/rescue", "inner/deep/two"))
	require.Equal(t, "/etc/passwd", p.landed("omoi/rescue", "inner/link"), "a link is kept as a link")
	require.Contains(t, strings.Join(got.Notes, " "), "inner")
}

func TestCollect_OwnFilesBeforeInnerRepository(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	inner := filepath.Join(p.work, "a-clone")
	require.NoError(t, os.MkdirAll(inner, 0o755))
	p.in(inner, "init", "-q")
	for _, name := range []string{"1", "2", "3"} {
		p.file(inner, name, "much\n")
	}
	p.file(p.work, "own", "words\n")
	p.cfg.Caps = gitcmd.Caps{Files: 2}
	got := p.collect()
	require.Equal(t, 2, got.Files)
	p.land(got)
	require.Equal(t, "words", p.landed("omoi/rescue", "own"))
	require.Contains(t, strings.Join(got.Notes, " "), "a-clone/")
}

// TestCollect_NewWorkWithoutTheRepository checks that work without its repository is compared with the pushed commits.
func TestCollect_NewWorkWithoutTheRepository(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit("pushed")
	p.in(p.work, "push", "-q", "origin", "HEAD")
	p.file(p.work, "last", "words\n")
	require.NoError(t, os.RemoveAll(filepath.Join(p.work, ".git")))
	got := p.collect()
	require.False(t, got.Repo)
	require.Equal(t, 1, got.Files)
	p.land(got)
	require.Equal(t, "words", p.landed("omoi/rescue", "last"))
	require.Equal(t, "pushed", p.landed("heads/"+branch, "pushed"))
}

func TestCollect_UnreadableWorkspace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	require.NoError(t, os.RemoveAll(filepath.Join(p.dir, workspace.OriginName)))
	require.NoError(t, os.RemoveAll(p.work))
	_, err := p.try()
	require.ErrorContains(t, err, "workspace")
}
