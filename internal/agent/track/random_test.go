package track_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// changer changes a work tree at random.
type changer struct {
	*bed
	*rand.Rand
	n int
}

func (c *changer) folder() string {
	names := []string{"", "a", "a/b", "a/b/c", "d e", "build", "a/build", "ü/\xff", "lib", "lib/x.log", "-n"}
	return names[c.IntN(len(names))]
}

func (c *changer) name() string {
	names := []string{
		"f", "g.go", "x.log", "keep.log", " sp ", "nl\nx", `q"uote`, ":(top)z", "*", "[a]", "tab\t", "\xfe", `back\slash`, "a", "b", "build",
		"a-b", "a.b", "gitignore", ".gitattributes", ".github", "nul.tmp",
	}
	return filepath.Join(c.folder(), names[c.IntN(len(names))])
}

// any returns a path that is there, with luck.
func (c *changer) any() string {
	var all []string
	_ = filepath.WalkDir(c.work, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() == ".git" {
			return fs.SkipDir
		}
		if path != c.work {
			all = append(all, strings.TrimPrefix(path, c.work+"/"))
		}
		return nil
	})
	if len(all) == 0 {
		return "none"
	}
	return all[c.IntN(len(all))]
}

func (c *changer) content() string {
	c.n++
	return strings.Repeat(fmt.Sprintf("line %d\r\n", c.n), c.IntN(50))
}

// put makes a path a file, whatever it was.
func (c *changer) put(name, content string) {
	if info, err := os.Lstat(c.path(name)); err == nil && info.Mode().Type() != 0 {
		_ = os.RemoveAll(c.path(name))
	}
	_ = os.MkdirAll(c.path(filepath.Dir(name)), 0o755) // a file may be in the way
	_ = os.WriteFile(c.path(name), []byte(content), 0o644)
}

func (c *changer) ignore() {
	rules := []string{"*.log\n", "*.log\n!keep.log\n", "/build/\n", "build\n*.tmp\n", "a/b/\n", "", "/lib/*\n!/lib/x.log\n", "*\n!/a\n"}
	c.put(filepath.Join(c.folder(), ".gitignore"), rules[c.IntN(len(rules))])
}

// change does one thing. What cannot be done is not.
func (c *changer) change() {
	switch c.IntN(16) {
	case 0, 1, 2, 3:
		c.put(c.name(), c.content())
	case 4, 5:
		_ = os.WriteFile(c.path(c.any()), []byte(c.content()), 0o644)
	case 6:
		_ = os.RemoveAll(c.path(c.any()))
	case 7, 8:
		_ = os.Rename(c.path(c.any()), c.path(c.name()))
	case 9:
		_ = os.Rename(c.path(c.any()), c.path(c.folder()))
	case 10: // not of a folder: files that an ordinary user cannot read are left out by name, and their entries depend on the past
		name, mode := c.any(), []fs.FileMode{0o755, 0o644, 0o600}[c.IntN(3)]|0o100*fs.FileMode(c.IntN(2))
		if info, err := os.Stat(c.path(name)); err == nil && !info.IsDir() {
			_ = os.Chmod(c.path(name), mode)
		}
	case 11:
		name := c.name()
		_ = os.Remove(c.path(name))
		_ = os.Symlink([]string{"f", "../a", "/nowhere/else", "nowhere"}[c.IntN(4)], c.path(name))
	case 12: // from file to folder
		name := c.any()
		_ = os.RemoveAll(c.path(name))
		c.put(filepath.Join(name, "below"), c.content())
	case 13: // a folder that is gone and back
		name := c.folder()
		if name != "" {
			_ = os.RemoveAll(c.path(name))
			c.put(filepath.Join(name, "again"), c.content())
		}
	case 14:
		_ = os.Truncate(c.path(c.any()), 0)
	default:
		if c.IntN(6) == 0 {
			c.ignore()
		}
	}
}

// listsAdded checks that Added lists each object that git would.
func (b *bed) listsAdded(before, now string) {
	b.t.Helper()
	if before == now {
		return
	}
	listed := map[string]bool{}
	require.NoError(b.t, b.Added(b.t.Context(), before, now, func(id, _ string) { listed[id] = true }))
	needed, err := b.truth.Run(b.t.Context(), "--git-dir="+b.Shadow().GitDir, "rev-list", "--objects", "--no-object-names", now, "^"+before)
	require.NoError(b.t, err)
	for id := range strings.FieldsSeq(needed) {
		require.True(b.t, listed[id], "%s is missing", id)
	}
}

func testRandom(t *testing.T, format string, takes int) {
	t.Helper()
	b := newBed(t, format, map[string]string{
		"f": "1\n", "a/f": "2\n", "a/b/g.go": "3\r\n", "lib/x.log": "tracked\n", "a/b/c/f": "4\n", "build/f": "5\n", ".gitignore": "*.tmp\n",
	})
	b.write(".gitignore", "*.log\n/build/\n")
	c := &changer{bed: b, Rand: rand.New(rand.NewPCG(1, uint64(takes)))}
	scans, last := b.Stats().Scans, b.take().Tree
	for n := range takes {
		for range c.IntN(6) {
			c.change()
		}
		snap := b.take()
		want := b.want()
		if want != snap.Tree {
			require.Equal(t, b.list(want), b.list(snap.Tree), "take %d", n)
		}
		b.listsAdded(last, snap.Tree)
		last = snap.Tree
	}
	t.Logf("%d of %d takes scanned", b.Stats().Scans-scans, takes)
	require.Less(t, b.Stats().Scans-scans, takes/2)
	require.Zero(t, b.Stats().Found)
	_, err := b.truth.Run(t.Context(), "--git-dir="+b.Shadow().GitDir, "fsck", "--strict", "--no-dangling", "--connectivity-only")
	require.NoError(t, err)
}

func TestTake_EqualsScanAfterRandomChanges(t *testing.T) {
	t.Parallel()
	testRandom(t, "sha1", 600)
}

func TestTake_EqualsScanInSHA256(t *testing.T) {
	t.Parallel()
	testRandom(t, "sha256", 100)
}

func TestTake_EqualsScanWithoutRepository(t *testing.T) {
	t.Parallel()
	testRandom(t, "", 100)
}
