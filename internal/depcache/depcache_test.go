package depcache_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/depcache"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestEachProjectHasItsOwn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "caches")
	s := depcache.New(dir)
	_, err := s.Open("a")
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
	for _, content := range []string{"one", "two"} {
		require.NoError(t, s.Keep("a", strings.NewReader(content)))
		f, err := s.Open("a")
		require.NoError(t, err)
		got, err := io.ReadAll(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.Equal(t, content, string(got))
	}
	_, err = s.Open("b")
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
	require.Error(t, s.Keep("a", iotest.ErrReader(errors.New("cut"))))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "what was cut short is not kept")
	for _, id := range []string{"", "../a", "a/b", ".", ".."} {
		require.Error(t, s.Keep(id, strings.NewReader("x")), id)
	}
}
