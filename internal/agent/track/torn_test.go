package track_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/track"
)

// content returns a file of a tree.
func (b *bed) content(tree, name string) string {
	b.t.Helper()
	git := b.truth.Git
	git.GitDir = b.Shadow().GitDir
	var text bytes.Buffer
	require.NoError(b.t, git.Stream(b.t.Context(), nil, &text, "cat-file", "blob", tree+":"+name))
	return text.String()
}

// writer writes a number to the first file, then to the second, then the next number.
func (b *bed) writer(every time.Duration) (stop func()) {
	var files [2]*os.File
	for n, name := range []string{"first", "second"} {
		f, err := os.OpenFile(b.path(name), os.O_WRONLY, 0)
		require.NoError(b.t, err)
		files[n] = f
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 1; ; n++ {
			for _, f := range files {
				_, _ = fmt.Fprintf(f, "%09d\n", n)
				_, _ = f.Seek(0, 0)
			}
			select {
			case <-end:
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		close(end)
		<-ended
		require.NoError(b.t, files[0].Close())
		require.NoError(b.t, files[1].Close())
	}
}

// whole reports whether a tree can have been that of a moment.
func (b *bed) whole(tree string) bool {
	var first, second int
	_, err := fmt.Sscanf(b.content(tree, "first")+b.content(tree, "second"), "%d\n%d\n", &first, &second)
	require.NoError(b.t, err)
	return first == second || first == second+1
}

func TestTake_MarksTornTrees(t *testing.T) {
	t.Parallel()
	for _, watches := range []int{0, 1} {
		t.Run(strconv.Itoa(watches), func(t *testing.T) {
			t.Parallel()
			testTorn(t, watches)
		})
	}
}

func testTorn(t *testing.T, watches int) {
	t.Helper()
	b := newBed(t, "sha1", map[string]string{"first": "000000000\n", "second": "000000000\n", "dir/x": "x\n"},
		func(c *track.Config) { c.Watches = watches })
	take, trees := b.Take, 20
	if watches > 0 { // scans alone, which are slow
		take, trees = b.Scan, 5
	}
	for _, every := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond} {
		stop := b.writer(every)
		marked, distinct := 0, map[string]bool{}
		for len(distinct) < trees {
			snap, err := take(t.Context())
			require.NoError(t, err)
			if distinct[snap.Tree] {
				continue
			}
			distinct[snap.Tree] = true
			if snap.Torn {
				marked++
				continue
			}
			require.True(t, b.whole(snap.Tree))
		}
		stop()
		t.Logf("a writer every %s: %d of %d trees marked", every, marked, trees)
	}
	snap, err := b.Scan(t.Context())
	require.NoError(t, err)
	require.False(t, snap.Torn)
	require.Equal(t, b.want(), snap.Tree)
}
