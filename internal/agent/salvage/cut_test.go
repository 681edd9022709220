package salvage_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/workspace"
)

// TestCollect_CutHistory checks that commits and files are collected and fit the repository, however an agent cuts its
// own history.
func TestCollect_CutHistory(t *testing.T) {
	t.Parallel()
	for name, does := range map[string]func(p *place){
		"fetches less": func(p *place) { p.in(p.work, "fetch", "-q", "--depth=1") },
		"and drops the rest": func(p *place) {
			p.in(p.work, "fetch", "-q", "--depth=1")
			p.in(p.work, "reflog", "expire", "--expire=now", "--all")
			p.in(p.work, "gc", "-q", "--prune=now")
		},
		"spoils git's list": func(p *place) { p.file(p.work, ".git/shallow", "no commit\n") },
		"clones again": func(p *place) {
			require.NoError(p.t, os.RemoveAll(filepath.Join(p.work, ".git")))
			anew := p.t.TempDir()
			p.in(anew, "clone", "-q", "--bare", "--depth=1", "--branch", branch, "file://"+filepath.Join(p.dir, workspace.OriginName), "anew.git")
			p.in(anew, "--git-dir=anew.git", "config", "core.bare", "false")
			require.NoError(p.t, os.Rename(filepath.Join(anew, "anew.git"), filepath.Join(p.work, ".git")))
			p.in(p.work, "reset", "-q")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			for _, file := range []string{"one", "two", "three"} {
				p.commit(file)
			}
			p.in(p.work, "push", "-q", "origin", "HEAD")
			head := p.in(p.work, "rev-parse", "HEAD")
			does(p)
			p.file(p.work, "dirty", "d\n")
			got := p.collect()
			require.Equal(t, head, got.Head)
			require.Equal(t, 3, got.Commits)
			p.land(got)
			require.Equal(t, "one", p.landed("heads/"+branch, "one"))
			require.Equal(t, "d", p.landed("omoi/rescue", "dirty"))
		})
	}
}
