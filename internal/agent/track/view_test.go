package track_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/track"
)

func TestView_BeginsWithTheFilesOfTheLastLook(t *testing.T) {
	t.Parallel()
	for name, watches := range map[string]int{"with watches": 0, "without watches": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, "sha1", map[string]string{"a": "1\n", "dir/b": "2\n"}, func(c *track.Config) { c.Watches = watches })
			first := b.take()
			v, err := b.View(t.Context())
			require.NoError(t, err)
			b.write("dir/b", "3\n")
			for range 2 { // the second one after a comparison that failed
				seen, now, err := v.Look(t.Context())
				require.NoError(t, err)
				require.Equal(t, first.Tree, seen)
				require.Equal(t, b.list(b.want()), b.list(now.Tree))
			}
			if watches > 0 {
				require.Equal(t, first, b.take(), "no second scan confirms the files")
			}
			v.Done()
			seen, now, err := v.Look(t.Context())
			require.NoError(t, err)
			require.Equal(t, now.Tree, seen)
		})
	}
}

func TestPrune_KeepsWhatViewsCompare(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"a": "1\n"})
	b.write("seen", "kept by the view\n")
	v, err := b.View(t.Context())
	require.NoError(t, err)
	b.write("seen", "needed by nothing\n")
	needless := b.take()
	b.write("seen", "present\n")
	b.take()
	require.NoError(t, b.Prune(t.Context(), 1<<20))
	require.NotEmpty(t, b.content(needless.Tree, "seen"), "not many bytes yet")

	require.NoError(t, b.Prune(t.Context(), -1))
	_, err = b.Shadow().Run(t.Context(), "cat-file", "-e", needless.Tree)
	require.Error(t, err)
	seen, now, err := v.Look(t.Context())
	require.NoError(t, err)
	require.Equal(t, "kept by the view\n", b.content(seen, "seen"))
	require.Equal(t, "present\n", b.content(now.Tree, "seen"))
	require.NoError(t, os.Remove(b.path("seen")))
	require.False(t, strings.Contains(b.list(b.same().Tree), "seen"))
}

func TestPrune_WaitsUntilAsMuchIsNewAsWasNeeded(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"a": "1\n"})
	random := rand.NewChaCha8([32]byte{})
	large := func(name string, size int) string {
		content := make([]byte, size)
		_, _ = random.Read(content)
		b.write(name, string(content))
		tree := b.take().Tree
		require.NoError(t, b.Prune(t.Context(), 64<<10))
		return tree
	}
	missing := func(tree string) bool {
		_, err := b.Shadow().Run(t.Context(), "cat-file", "-e", tree)
		return err != nil
	}
	large("needed", 512<<10)
	first := large("b", 128<<10)
	second := large("b", 128<<10)
	require.False(t, missing(first), "little of it is needless")
	large("b", 512<<10)
	require.True(t, missing(first))
	require.True(t, missing(second))
}

// asked is a context that calls a function when it is first asked for its end.
type asked struct {
	context.Context //nolint:containedctx // a wrapper

	first func()
}

func (a asked) Done() <-chan struct{} {
	a.first()
	return a.Context.Done()
}

// Otherwise Prune may delete the first tree of a view, when files change after the view has read them.
func TestView_IsKnownToPruneBeforeItReads(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"a": "1\n"})
	known := 0
	_, err := b.View(asked{t.Context(), sync.OnceFunc(func() { known = b.Views() })})
	require.NoError(t, err)
	require.Equal(t, 1, known)
}
