package salvage_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
)

// repository creates a repository in a folder, with one committed file.
func (p *place) repository(dir string) {
	p.t.Helper()
	require.NoError(p.t, os.MkdirAll(dir, 0o755))
	p.in(dir, "init", "-q", "-b", "main")
	p.inner(dir, "inside")
}

func (p *place) inner(dir, name string) {
	p.t.Helper()
	p.file(dir, name, "work\n")
	p.in(dir, "add", "-A")
	p.in(dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", name)
}

// record commits all files to the branch, and repositories as links.
func (p *place) record() {
	p.t.Helper()
	p.in(p.work, "-c", "advice.addEmbeddedRepo=false", "add", "-A")
	p.in(p.work, "commit", "-qm", "record")
}

// begin makes the current branch the one that the agent starts from.
func (p *place) begin() {
	p.t.Helper()
	p.in(p.work, "push", "-q", p.host, "HEAD:refs/heads/begun")
	repo := *p.cfg.Repo
	repo.Base = p.in(p.work, "rev-parse", "HEAD")
	p.cfg.Repo = &repo
}

// submodule adds lib, which .gitmodules names, as from another machine.
func (p *place) submodule() string {
	p.t.Helper()
	lib := filepath.Join(p.work, "lib")
	p.repository(lib)
	p.in(lib, "remote", "add", "origin", "https://example.invalid/lib.git")
	p.fetched(lib)
	p.file(p.work, ".gitmodules", "[submodule \"lib\"]\n\tpath = lib\n\turl = https://example.invalid/lib.git\n")
	p.record()
	return lib
}

func (p *place) fetched(dir string) {
	p.t.Helper()
	p.in(dir, "update-ref", "refs/remotes/origin/main", "HEAD")
}

// holds expects one file in the rescue commit, in addition to other expectations.
func (p *place) holds(got agentconfig.Collected, path string) {
	p.t.Helper()
	require.Equal(p.t, 1, got.Files)
	require.EqualValues(p.t, len("work\n"), got.Bytes)
	p.land(got)
	require.Equal(p.t, "work", p.landed("omoi/rescue", path))
	require.Contains(p.t, strings.Join(got.Notes, " "), filepath.Dir(path))
}

// TestCollect_RepositoryCommittedAsALink checks that a committed link keeps nothing of its repository.
func TestCollect_RepositoryCommittedAsALink(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]func(*place, string){
		"made": (*place).repository,
		"cloned in the sandbox": func(p *place, dir string) {
			other := filepath.Join(p.t.TempDir(), "ws")
			p.repository(other)
			p.in(p.dir, "clone", "-q", other, dir)
		},
		"cloned from elsewhere, which is written nowhere": func(p *place, dir string) {
			p.repository(dir)
			p.in(dir, "remote", "add", "origin", "git@example.invalid:x.git")
			p.fetched(dir)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			from(p, filepath.Join(p.work, "newlib"))
			p.record()
			got := p.collect()
			p.holds(got, "newlib/inside")
			told := strings.Contains(got.Notes[0], p.in(p.work, "rev-parse", "--short=10", "HEAD:newlib"))
			require.Equal(t, !strings.Contains(name, "elsewhere"), told, got.Notes)
		})
	}
}

// TestSubmodule_WithoutTheRecordedCommit replaces the submodule's repository with one that does not have the recorded
// commit.
func TestSubmodule_WithoutTheRecordedCommit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	lib := p.submodule()
	p.begin()
	require.NoError(t, os.RemoveAll(lib))
	require.NoError(t, os.MkdirAll(lib, 0o755))
	require.Empty(t, p.collect().Notes)
	p.in(lib, "init", "-q")
	p.file(lib, "inside", "work\n")
	p.holds(p.collect(), "lib/inside")
	p.in(lib, "add", "-A")
	p.holds(p.collect(), "lib/inside")
}

func TestSubmodule_Unchanged(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	lib := p.submodule()
	require.Zero(t, p.collect().Files, "added with its remote")
	p.in(lib, "update-ref", "-d", "refs/remotes/origin/main")
	p.begin()
	got := p.collect()
	require.Equal(t, agentconfig.Collected{Repo: true, Head: p.cfg.Repo.Base}, got, "as the task found it, also without a branch of the remote")
	p.inner(lib, "newer")
	p.fetched(lib)
	got = p.collect()
	require.Equal(t, []any{1, int64(0), 0}, []any{got.Files, got.Bytes, len(got.Notes)}, "another commit of the remote: only the link has changed")
	p.land(got)
	require.Contains(t, p.in(p.host, "ls-tree", "refs/landed/omoi/rescue", "lib"), p.in(lib, "rev-parse", "HEAD"))
	p.record()
	require.Zero(t, p.collect().Files)
}

// TestSubmodule_ChangedFiles checks that changed files are saved, and that filters and hooks, which the agent controls,
// do not run.
func TestSubmodule_ChangedFiles(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *place, lib string){
		"changed": func(p *place, lib string) { p.file(lib, "inside", "WORK\n") },
		"new":     func(p *place, lib string) { p.file(lib, "deep/new", "work\n") },
		"deleted": func(p *place, lib string) { require.NoError(p.t, os.Remove(filepath.Join(lib, "inside"))) },
		"commit":  func(p *place, lib string) { p.inner(lib, "new") },
		"inner":   func(p *place, lib string) { p.repository(filepath.Join(lib, "inner")) },
		"commit that was recorded": func(p *place, lib string) {
			p.inner(lib, "new")
			p.record()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			lib := p.submodule()
			p.file(lib, ".git/info/attributes", "* filter=x\n")
			p.inner(lib, "other")
			p.record()
			p.begin()
			change(p, lib)
			planted := filepath.Join(t.TempDir(), "planted")
			p.in(lib, "config", "core.fsmonitor", "touch "+planted+"; false")
			p.in(lib, "config", "filter.x.clean", "touch "+planted+"; cat")
			got := p.collect()
			require.Positive(t, got.Files)
			p.land(got)
			require.Equal(t, "work", p.landed("omoi/rescue", "lib/other"))
			require.NoFileExists(t, planted)
		})
	}
}

// TestSubmodule_Unreadable checks that no obstacle in a submodule costs other work.
func TestSubmodule_Unreadable(t *testing.T) {
	t.Parallel()
	pipe := func(p *place, lib, name string) {
		path := filepath.Join(lib, name)
		_ = os.Remove(path)
		require.NoError(p.t, syscall.Mkfifo(path, 0o644))
	}
	for name, spoil := range map[string]func(p *place, lib string){
		"a pipe as settings": func(p *place, lib string) { pipe(p, lib, ".git/config") },
		"a pipe as index":    func(p *place, lib string) { pipe(p, lib, ".git/index") },
		"a pipe as excludes": func(p *place, lib string) { pipe(p, lib, ".gitignore") },
		"no repository":      func(p *place, lib string) { require.NoError(p.t, os.RemoveAll(filepath.Join(lib, ".git/objects"))) },
		"a broken index":     func(p *place, lib string) { p.file(lib, ".git/index", "rubbish") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			lib := p.submodule()
			p.begin()
			spoil(p, lib)
			p.file(p.work, "last", "words\n")
			p.cfg.Patience = time.Second
			got := p.collect()
			require.True(t, got.Repo)
			p.land(got)
			require.Equal(t, "words", p.landed("omoi/rescue", "last"))
		})
	}
}

// TestSubmodule_CommonTimeout checks that the checks of all submodules share one timeout, in sorted order.
func TestSubmodule_CommonTimeout(t *testing.T) {
	p := newPlace(t)
	names := strings.Split("abcdefghi", "") // more than a small map keeps in insertion order
	for _, name := range names {
		p.repository(filepath.Join(p.work, name))
	}
	p.record()
	p.begin()
	program, err := exec.LookPath("git")
	require.NoError(t, err)
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := "#!/bin/sh\ncase \"$*\" in *'HEAD^{commit}') basename \"$PWD\" >> '" + log + "';; esac\nexec '" + program + "' \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	p.cfg.Patience = time.Minute
	p.collect()
	looked, err := os.ReadFile(log)
	require.NoError(t, err)
	seen := strings.Fields(strings.ReplaceAll(string(looked), filepath.Base(p.work), ""))
	require.Equal(t, names, seen)
}

// TestSubmodule_BehindASymbolicLink checks a link whose target is outside of the workspace.
func TestSubmodule_BehindASymbolicLink(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repository(filepath.Join(p.work, "a/lib"))
	p.record()
	p.begin()
	outside := t.TempDir()
	p.file(outside, "lib/foreign", "foreign\n")
	require.NoError(t, os.RemoveAll(filepath.Join(p.work, "a")))
	require.NoError(t, os.Symlink(outside, filepath.Join(p.work, "a")))
	p.file(p.work, "last", "words\n")
	got := p.collect()
	p.land(got)
	require.Equal(t, "words", p.landed("omoi/rescue", "last"))
	require.Equal(t, outside, p.landed("omoi/rescue", "a"), got.Notes)
}
