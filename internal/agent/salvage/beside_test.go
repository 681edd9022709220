package salvage_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// begun has the submodule lib as the task finds it.
func begun(t *testing.T) (p *place, lib string) {
	t.Helper()
	p = newPlace(t)
	lib = p.submodule()
	p.in(lib, "config", "user.name", "a")
	p.in(lib, "config", "user.email", "a@b")
	p.begin()
	return p, lib
}

// TestSubmodule_OtherCommitsAreNoted checks the note about branches, tags and stashes of a submodule, which are not
// kept.
func TestSubmodule_OtherCommitsAreNoted(t *testing.T) {
	t.Parallel()
	const loose, dangling = "commits on its branches, tags or in its stash", "was committed as a link to its commit"
	for name, c := range map[string]struct {
		does func(p *place, lib string)
		says string
	}{
		"on another branch": {func(p *place, lib string) {
			p.in(lib, "switch", "-qc", "other")
			p.inner(lib, "new")
			p.in(lib, "switch", "-q", "main")
		}, loose},
		"on a tag": {func(p *place, lib string) {
			p.inner(lib, "new")
			p.in(lib, "tag", "deep/kept")
			p.in(lib, "reset", "-q", "--hard", "HEAD~1")
		}, loose},
		"in a stash": {func(p *place, lib string) {
			p.file(lib, "inside", "more\n")
			p.in(lib, "stash", "-q")
		}, loose},
		"recorded, then emptied": {func(p *place, lib string) {
			p.inner(lib, "new")
			p.record()
			require.NoError(p.t, os.RemoveAll(lib))
			require.NoError(p.t, os.MkdirAll(lib, 0o755))
		}, dangling},
		"recorded, then reset": {func(p *place, lib string) {
			p.inner(lib, "new")
			p.record()
			p.in(lib, "reset", "-q", "--hard", "HEAD~1")
		}, dangling},
		"in a repository of a submodule": {func(p *place, lib string) {
			deep := filepath.Join(lib, "deep")
			p.repository(deep)
			p.in(deep, "remote", "add", "origin", "https://example.invalid/deep.git")
			p.fetched(deep)
			p.inner(lib, "link")
			p.record()
			p.begin()
			p.in(deep, "switch", "-qc", "other")
			p.inner(deep, "new")
			p.in(deep, "switch", "-q", "main")
		}, loose},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, lib := begun(t)
			c.does(p, lib)
			got := p.collect()
			require.Len(t, got.Notes, 1)
			require.Contains(t, got.Notes[0], `"lib"`)
			require.Contains(t, got.Notes[0], c.says)
		})
	}
}

// TestSubmodule_RemoteCommitsAreNotNoted checks that tags and branches of the remote, and a recorded commit of it, lead
// to no note.
func TestSubmodule_RemoteCommitsAreNotNoted(t *testing.T) {
	t.Parallel()
	p, lib := begun(t)
	p.inner(lib, "side")
	p.in(lib, "tag", "side")
	p.in(lib, "pack-refs", "--all")
	p.in(lib, "reset", "-q", "--hard", "HEAD~1")
	p.inner(lib, "newer")
	p.fetched(lib)
	p.in(lib, "tag", "newer")
	p.in(lib, "switch", "-q", "--detach", "HEAD~1")
	got := p.collect()
	require.Empty(t, got.Notes)
	require.Zero(t, got.Files)
	p.in(lib, "switch", "-q", "main")
	p.record()
	require.Empty(t, p.collect().Notes)
}

// TestSubmodule_HiddenFiles checks files that are marked as unchanged.
func TestSubmodule_HiddenFiles(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"--assume-unchanged", "--skip-worktree"} {
		p, lib := begun(t)
		p.in(lib, "update-index", how, "inside")
		require.Empty(t, p.collect().Notes, "only marked")
		p.file(lib, "inside", "WORK\n")
		got := p.collect()
		require.Equal(t, 1, got.Files, how)
		p.land(got)
		require.Equal(t, "WORK", p.landed("omoi/rescue", "lib/inside"))
	}
}

// TestSubmodule_PipesAmongRefs checks that named pipes among the refs of a submodule do not block.
func TestSubmodule_PipesAmongRefs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"refs/heads/x", "refs/tags/x", "refs/stash", "packed-refs"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := begun(t)
			p.pipe("lib/.git/" + name)
			p.file(p.work, "last", "words\n")
			p.cfg.Patience = time.Second
			got := p.collect()
			p.land(got)
			require.Equal(t, "words", p.landed("omoi/rescue", "last"))
		})
	}
}
