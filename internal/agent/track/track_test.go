package track_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/track"
)

func TestTake_SeesEachChange(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"a": "1\n", "dir/b": "2\n", "dir/c": "3\n", ".gitignore": "*.log\n"})
	require.Empty(t, b.changed(b.same()))
	b.write("a", "4\n")
	b.write("new/x", "5\n")
	b.write("new/x.log", "6\n")
	require.NoError(t, os.Rename(b.path("dir"), b.path("moved")))
	require.True(t, b.dirty())
	require.Equal(t, []string{"a", "dir/b", "dir/c", "moved/b", "moved/c", "new/x"}, b.changed(b.same()))
	require.Empty(t, b.changed(b.same()))
	b.write("moved/b", "7\n") // the watch has moved too
	require.Equal(t, []string{"moved/b"}, b.changed(b.same()))
	b.clean()
	require.Equal(t, 1, b.Stats().Scans)
}

func TestTake_KeepsBytes(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{".gitattributes": "* text=auto ident\n*.u16 working-tree-encoding=UTF-16\n"})
	files := map[string]string{"crlf.txt": "a\r\nb\r\n$Id$\n", "wide.u16": "\xff\xfea\x00\n\x00"}
	for name, content := range files {
		b.write(name, content)
	}
	snap := b.same()
	for name, content := range files {
		require.Equal(t, content, b.content(snap.Tree, name))
	}
}

func TestTake_NamesWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	caps := gitcmd.Caps{FileBytes: 10, TotalBytes: 1000}
	b := newBed(t, "sha1", map[string]string{"a": "1\n", "b": "2\n"})
	b.truth = b.shadow(caps)
	b.open(caps)
	b.write("a", strings.Repeat("x", 11))
	b.write("new", strings.Repeat("x", 12))
	b.write("pipe", "")
	require.NoError(t, os.Remove(b.path("pipe")))
	require.NoError(t, syscall.Mkfifo(b.path("pipe"), 0o600))
	require.NoError(t, os.Remove(b.path("b")))
	require.NoError(t, syscall.Mkfifo(b.path("b"), 0o600))
	want := []string{
		`"a" was left out: it has 11 bytes, more than 10`, `"b" was left out: it is not a regular file`,
		`"new" was left out: it has 12 bytes, more than 10`,
	}
	require.Equal(t, want, b.same().Skipped)
	snap, err := b.Scan(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, snap.Skipped)
	b.write("a", "short\n")
	require.NoError(t, os.Remove(b.path("new")))
	require.Equal(t, want[1:2], b.same().Skipped)
	many := filepath.Join(t.TempDir(), "many")
	require.NoError(t, os.Mkdir(many, 0o755))
	for n := range 200 { // more than 1000 bytes in all: the scan decides which
		write(t, filepath.Join(many, strconv.Itoa(n)), "0123456789")
	}
	require.NoError(t, os.Rename(many, b.path("many"))) // one change, so that none follows the scan
	snap = b.take()
	require.Len(t, snap.Skipped, 20)
	require.LessOrEqual(t, strings.Count(b.list(snap.Tree), "\tmany/"), 100)
}

func TestTake_AfterManyChanges(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"a": "1\n"})
	for n := range 2500 {
		b.write(fmt.Sprintf("d%d/%d", n%7, n), "x\n")
	}
	require.Len(t, b.changed(b.same()), 2500)
	require.Equal(t, 2, b.Stats().Scans)
	b.write("d3/3", "y\n")
	require.Len(t, b.changed(b.same()), 1)
	require.Equal(t, 2, b.Stats().Scans)
}

func TestTake_AfterOverflow(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	require.NoError(t, err)
	var most int
	_, err = fmt.Sscan(string(text), &most)
	require.NoError(t, err)
	b := newBed(t, "sha1", map[string]string{"a": "", "b": "", "dir/c": "1\n"})
	var files [2]*os.File
	for n := range files {
		files[n], err = os.OpenFile(b.path(string("ab"[n])), os.O_WRONLY, 0)
		require.NoError(t, err)
	}
	release := b.HoldEvents()
	for n := range most + 10 {
		_, err := files[n%2].WriteAt([]byte("x"), int64(n))
		require.NoError(t, err)
	}
	require.NoError(t, os.Rename(b.path("dir"), b.path("moved")))
	b.write("new/d", "2\n")
	release()
	b.changed(b.same())
	require.Equal(t, 2, b.Stats().Scans)
	require.Zero(t, b.Stats().Found)
	for n, name := range []string{"moved/c", "new/d"} {
		b.write(name, "3\n")
		require.Equal(t, []string{name}, b.changed(b.same()), n)
	}
	require.NoError(t, files[0].Close())
	require.NoError(t, files[1].Close())
}

func TestTake_FolderIsGoneAndBack(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"a/b/c": "1\n", "a/d": "2\n"})
	for n := range 50 {
		require.NoError(t, os.RemoveAll(b.path("a")))
		b.write("a/b/c", fmt.Sprintln(n))
		if n%2 == 0 {
			b.same()
		}
		b.write("a/b/c", fmt.Sprintln("again", n))
		b.same()
	}
	require.Equal(t, 1, b.Stats().Scans)
}

func TestTake_TrackedFilesOfIgnoredFolder(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"build/kept": "1\n", ".gitignore": "build\n"})
	b.git("add", "-f", "build/kept")
	b.git("commit", "-qm", "second")
	b.truth = b.shadow(gitcmd.Caps{})
	b.open(gitcmd.Caps{})
	b.write("build/kept", "2\n")
	b.write("build/new", "3\n")
	require.Equal(t, []string{"build/kept"}, b.changed(b.same()))
	require.NoError(t, os.Remove(b.path("build/kept")))
	require.Equal(t, []string{"build/kept"}, b.changed(b.same()))
	b.write("build/kept", "4\n")
	require.Empty(t, b.changed(b.same()), "ignored now")
	snap, err := b.Scan(t.Context())
	require.NoError(t, err)
	require.Empty(t, b.changed(snap))
}

func TestTake_ReadsTheExcludeFileOfTheRepositoryAgain(t *testing.T) {
	t.Parallel()
	for name, watches := range map[string]int{"with watches": 0, "without watches": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, "sha1", map[string]string{"a": "1\n", "dir/b": "1\n"}, func(c *track.Config) { c.Watches = watches })
			take := b.Scan
			if watches == 0 {
				take = b.Take
				b.write("asked/x", "so that git has read the file\n")
				b.changed(b.take())
			}
			b.write(".git/info/exclude", ".env\nbuild/\n")
			b.write(".env", "secret\n")
			b.write("build/x", "made\n")
			b.write("new", "2\n")
			snap, err := take(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{"new"}, b.changed(snap))
			require.NoError(t, os.Remove(b.path(".git/info/exclude")))
			b.write("new", "3\n")
			snap, err = take(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{".env", "build/x", "new"}, b.changed(snap))
		})
	}
}

func TestScan_FindsWhatWatchesMiss(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"a": "1111\n", "b": "1111\n", ".gitignore": "build\n"})
	require.NoError(t, os.Mkdir(b.path("build"), 0o755))
	require.NoError(t, os.Link(b.path("b"), b.path("build/b")))
	f, err := os.OpenFile(b.path("a"), os.O_RDWR, 0)
	require.NoError(t, err)
	memory, err := unix.Mmap(int(f.Fd()), 0, 5, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	b.same()
	copy(memory, "2222")
	b.write("build/b", "2222\n")
	require.Empty(t, b.changed(b.take()))
	snap, err := b.Scan(t.Context())
	require.NoError(t, err)
	require.Equal(t, b.list(b.want()), b.list(snap.Tree))
	require.Equal(t, []string{"a", "b"}, b.changed(snap))
	require.Equal(t, 2, b.Stats().Found)
	require.NoError(t, unix.Munmap(memory))
	require.NoError(t, f.Close())
	b.same()
}

func TestTake_ScansByItself(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"a": "1\n", ".gitignore": "build\n"}, func(c *track.Config) { c.Scan = 1 })
	require.NoError(t, os.Mkdir(b.path("build"), 0o755))
	require.NoError(t, os.Link(b.path("a"), b.path("build/a")))
	b.same()
	b.write("build/a", "2\n")
	want := b.want()
	require.Eventually(t, func() bool { return b.take().Tree == want }, time.Minute, 10*time.Millisecond)
	require.Equal(t, 1, b.Stats().Found)
}

func TestTake_RepositoriesInside(t *testing.T) {
	t.Parallel()
	caps := gitcmd.Caps{Inner: true}
	b := newBed(t, "sha1", map[string]string{"a": "1\n"})
	b.truth = b.shadow(caps)
	b.open(caps)
	b.git("init", "-q", "sub")
	b.write("sub/x", "2\n")
	snap, err := b.Scan(t.Context())
	require.NoError(t, err)
	require.Equal(t, b.list(b.want()), b.list(snap.Tree))
	require.Len(t, snap.Skipped, 1)
	b.git("-C", "sub", "add", "x")
	b.git("-C", "sub", "commit", "-qm", "inner")
	b.write("sub/x", "3\n")
	b.write("sub/deep/y", "4\n")
	want := b.want()
	require.True(t, b.Dirty(snap))
	require.Eventually(t, func() bool { return b.take().Tree == want }, time.Minute, 10*time.Millisecond)
	b.clean()
	require.Zero(t, b.Stats().Found)

	b.git("submodule", "add", "-q", "./sub", "module")
	b.git("commit", "-qm", "submodule")
	b.write("module/x", "5\n")
	b.git("-C", "module", "commit", "-qam", "changed")
	snap, err = b.Scan(t.Context())
	require.NoError(t, err)
	require.Equal(t, b.list(b.want()), b.list(snap.Tree))
	require.NoError(t, os.RemoveAll(b.path("sub")))
	require.NoError(t, os.RemoveAll(b.path("module")))
	b.same()
}

func TestTake_WatchesRefused(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"a": "1\n", "dir/b": "2\n"}, func(c *track.Config) { c.Watches = 1 })
	require.Zero(t, b.Stats().Watches)
	first := b.take()
	b.write("dir/b", "3\n")
	require.False(t, b.dirty())
	require.Equal(t, first, b.take(), "no scan is due")
	snap, err := b.Scan(t.Context())
	require.NoError(t, err)
	require.Equal(t, b.list(b.want()), b.list(snap.Tree))
	require.Equal(t, []string{"dir/b"}, b.changed(snap))
	require.True(t, snap.At.After(first.At))

	b.open(gitcmd.Caps{}, func(c *track.Config) { c.Watches, c.Scan = 1, 1 })
	b.write("dir/b", "4\n")
	require.Eventually(t, b.dirty, time.Minute, time.Millisecond)
	b.same()
}

func TestTake_WatchesRefusedLater(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"a": "1\n", "dir/b": "2\n"}, func(c *track.Config) { c.Watches = 2 })
	require.Equal(t, 2, b.Stats().Watches)
	b.write("new/c", "3\n")
	b.same()
	require.Zero(t, b.Stats().Watches)
}

func TestTake_WorkTreeBehindLink(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"a": "1\n"})
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(b.work, link))
	b.work = link
	b.open(gitcmd.Caps{})
	b.write("new/b", "2\n")
	require.Equal(t, []string{"new/b"}, b.changed(b.same()))
	require.Equal(t, 1, b.Stats().Scans)
}

func TestTake_AfterCancel(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"a": "1\n"})
	b.write("new", "2\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Take(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, b.dirty())
	require.Equal(t, []string{"new"}, b.changed(b.same()))
}

// helpers returns the git processes of the tracker.
func (b *bed) helpers() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		command, _ := os.ReadFile(dir + "/cmdline")
		cwd, _ := os.Readlink(dir + "/cwd")
		if cwd == b.work && (strings.Contains(string(command), "cat-file\x00") || strings.Contains(string(command), "check-ignore\x00")) {
			var pid int
			_, _ = fmt.Sscan(filepath.Base(dir), &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestTake_NamedPipesInPlaceOfIgnoreFiles(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"a": "1\n", "dir/b": "2\n"})
	for _, name := range []string{".gitignore", "dir/.gitignore", "dir/.gitattributes"} {
		require.NoError(t, syscall.Mkfifo(b.path(name), 0o600))
	}
	b.write("dir/new/c", "3\n")
	first := b.take()
	require.Equal(t, "3\n", b.content(first.Tree, "dir/new/c"))
	require.Empty(t, first.Skipped)
	snap, err := b.Scan(t.Context())
	require.NoError(t, err)
	require.Equal(t, first.Tree, snap.Tree)
	require.False(t, snap.Torn)
	require.NoError(t, os.Remove(b.path(".gitignore")))
	b.write(".gitignore", "later\n")
	b.write("dir/later", "4\n")
	require.NotContains(t, b.list(b.take().Tree), "dir/later")
}

func TestTake_HelpersKilled(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"a/b/c": "1\n", "d/e/f": "2\n"})
	killed := 0
	for n := range 40 {
		b.write(fmt.Sprintf("a/b/new%d/%d", n, n), "x\n")
		b.write(fmt.Sprintf("d/e/%d", n), "y\n")
		done := make(chan struct{})
		pids := b.helpers()
		killed += len(pids)
		go func() {
			defer close(done)
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}()
		b.same()
		<-done
	}
	require.Greater(t, killed, 70)
	require.Equal(t, 1, b.Stats().Scans)
	require.NotEmpty(t, b.helpers())
	require.NoError(t, b.Close())
	require.Eventually(t, func() bool { return len(b.helpers()) == 0 }, time.Minute, time.Millisecond)
}

func TestOpen_RemovesUnfinishedObjects(t *testing.T) {
	t.Parallel()
	b := newBed(t, "sha1", map[string]string{"a": "1\n"})
	s := b.shadow(gitcmd.Caps{})
	left := filepath.Join(s.GitDir, "objects", "tmp_obj_track_1")
	require.NoError(t, os.WriteFile(left, []byte("half"), 0o600))
	tracker, err := track.Open(t.Context(), track.Config{Shadow: s})
	require.NoError(t, err)
	require.NoFileExists(t, left)
	require.NoError(t, tracker.Close())
}
