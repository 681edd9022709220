package salvage_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/salvage"
)

// TestCollect_AfterKill checks that git locks of a killed collector do not block the next one.
func TestCollect_AfterKill(t *testing.T) {
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

// lockRefs creates a lock for every ref that the first collector created in its own repository.
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
