package salvage_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/salvage"
)

// A program that is killed while it collects leaves locks of git behind. The next one brings all the work out.
func TestLocksOfAKilledCollectorHoldUpNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit("work")
	p.file(p.work, "notes", "not committed\n")
	first := p.collect()
	require.NotEmpty(t, first.Rescue)
	p.file(filepath.Dir(first.Bundle), "."+filepath.Base(first.Bundle)+".half.lock", "")
	p.lockRefs()
	got := p.collect()
	require.Equal(t, first.Commits, got.Commits)
	require.Empty(t, got.Notes)
	p.land(got)
	require.Equal(t, "not committed", p.landed(strings.TrimPrefix(salvage.RescueRef, "refs/"), "notes"))
}

// lockRefs locks every name that the first collector gave in its own repository.
func (p *place) lockRefs() {
	p.t.Helper()
	own := ""
	require.NoError(p.t, filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, err error) error {
		if at, found := strings.CutSuffix(filepath.ToSlash(path), "/"+salvage.RescueRef); found {
			own = at
		}
		return err
	}))
	for _, name := range []string{salvage.RescueRef, "refs/heads/" + branch} {
		require.FileExists(p.t, filepath.Join(own, name))
		p.file(own, name+".lock", "")
	}
}
