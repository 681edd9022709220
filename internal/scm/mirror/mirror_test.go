package mirror_test

import (
	"context"
	"crypto/sha1"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm/mirror"
)

// shelf is a folder of mirrors whose fetches are made up.
type shelf struct {
	t   *testing.T
	dir string
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	return &shelf{t, filepath.Join(t.TempDir(), "repos")}
}

// packing is git that fetches one pack of so many bytes the first time.
func (s *shelf) packing(size int) mirror.Git {
	return func(_ context.Context, dir string, _ *os.File, args ...string) error {
		pack := filepath.Join(dir, "objects", "pack", "pack-1.pack")
		if _, err := os.Stat(pack); args[0] != "fetch" || err == nil {
			return os.MkdirAll(filepath.Dir(pack), 0o700)
		}
		return errors.Join(summed(pack, size-sha1.Size), summed(filepath.Join(filepath.Dir(pack), "pack-1.idx"), sha1.Size))
	}
}

// summed writes a file of so many bytes that ends with its sum.
func summed(path string, size int) error {
	text := make([]byte, size-sha1.Size)
	sum := sha1.Sum(text)
	return os.WriteFile(path, slices.Concat(text, sum[:]), 0o600)
}

func (s *shelf) acquire(store *mirror.Store, key string, size int) *mirror.Handle {
	s.t.Helper()
	handle, err := store.Acquire(s.t.Context(), key, s.packing(size), "fetch")
	require.NoError(s.t, err)
	require.FileExists(s.t, filepath.Join(handle.Objects, "pack", "pack-1.pack"))
	return handle
}

// age says how long ago the mirror was used.
func (s *shelf) age(key string, hours int) {
	s.t.Helper()
	then := time.Now().Add(-time.Duration(hours) * time.Hour)
	require.NoError(s.t, os.Chtimes(filepath.Join(s.dir, key, "used"), then, then))
}

// kept are the keys of the mirrors that are there.
func (s *shelf) kept() string {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.dir, "*", "copy.git"))
	require.NoError(s.t, err)
	for n, path := range found {
		found[n] = filepath.Base(filepath.Dir(path))
	}
	return strings.Join(found, " ")
}

func TestWhatWasNotUsedForLongestGoesFirst(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	store := mirror.New(s.dir, 250)
	for n, key := range []string{"a", "b"} {
		s.acquire(store, key, 100).Close()
		s.age(key, 10-n)
	}
	s.acquire(store, "a", 100).Close() // used again
	count, bytes := mirror.Weigh(s.dir)
	require.Equal(t, 2, count)
	require.Equal(t, int64(200), bytes)
	s.acquire(store, "c", 100).Close()
	require.Equal(t, "a c", s.kept())
	s.acquire(store, "d", 1000).Close()
	require.Equal(t, "a c", s.kept(), "what is too large drives nobody out")
}

func TestNoneGoesThatIsInUse(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	store := mirror.New(s.dir, 150)
	old, again := s.acquire(store, "a", 100), s.acquire(store, "a", 100)
	s.age("a", 10)
	s.acquire(store, "b", 100).Close()
	require.Equal(t, "a", s.kept())
	store.Forget("a")
	require.Equal(t, "a", s.kept())

	require.NoError(t, os.Truncate(filepath.Join(old.Objects, "pack", "pack-1.pack"), 1))
	_, err := store.Acquire(t.Context(), "a", s.packing(100), "fetch")
	require.ErrorIs(t, err, mirror.ErrInUse)
	old.Close()
	_, err = store.Acquire(t.Context(), "a", s.packing(100), "fetch")
	require.ErrorIs(t, err, mirror.ErrInUse)
	again.Close()
	s.acquire(store, "a", 100).Close()
	store.Forget("a")
	require.Empty(t, s.kept())
}

func TestALowerBoundTakesEffect(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	mirror.Trim(s.dir, 1) // there is no folder yet
	store := mirror.New(s.dir, 1000)
	for _, key := range []string{"a", "b"} {
		s.acquire(store, key, 100).Close()
	}
	s.age("b", 1)
	mirror.Trim(s.dir, 100)
	require.Equal(t, "a", s.kept())
	mirror.Trim(s.dir, 0)
	require.Empty(t, s.kept())
	require.Nil(t, mirror.New(s.dir, 0))
}

func TestAFetchThatFailsLendsNothing(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	store := mirror.New(s.dir, 1000)
	s.acquire(store, "a", 100).Close()
	refused := errors.New("refused")
	_, err := store.Acquire(t.Context(), "a", func(context.Context, string, *os.File, ...string) error { return refused }, "fetch")
	require.ErrorIs(t, err, refused)
	require.Equal(t, "a", s.kept())
}

// A worker that is killed leaves its git behind: nobody else touches the mirror before that has ended.
func TestTheLockLastsAsLongAsGit(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	store := mirror.New(s.dir, 1000)
	var left *exec.Cmd
	var end io.Closer
	_, err := store.Acquire(t.Context(), "a", func(ctx context.Context, _ string, held *os.File, _ ...string) (err error) {
		left = exec.CommandContext(ctx, "cat")
		left.ExtraFiles = []*os.File{held}
		if end, err = left.StdinPipe(); err != nil {
			return err
		}
		return errors.Join(left.Start(), errors.New("the worker is gone"))
	}, "fetch")
	require.ErrorContains(t, err, "the worker is gone")
	over, stop := context.WithCancel(t.Context())
	stop()
	_, err = store.Acquire(over, "a", s.packing(100), "fetch")
	require.ErrorIs(t, err, context.Canceled)
	store.Patience = time.Millisecond
	_, err = store.Acquire(t.Context(), "a", s.packing(100), "fetch")
	require.ErrorIs(t, err, mirror.ErrBusy)
	store.Patience = time.Hour
	require.NoError(t, errors.Join(end.Close(), left.Wait()))
	s.acquire(store, "a", 100).Close()
}

func TestManyPacksBecomeOne(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	store := mirror.New(s.dir, 1<<30)
	git := func(ctx context.Context, dir string, _ *os.File, args ...string) error {
		if args[0] != "fetch" {
			return gitIn(ctx, dir, "", args...)
		}
		if packs, _ := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack")); len(packs) > 0 {
			return nil
		}
		for n := range 60 {
			blob := "blob\ndata 3\n" + strconv.Itoa(100+n) + "\n"
			if err := gitIn(ctx, dir, blob, "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet"); err != nil {
				return err
			}
		}
		return nil
	}
	for _, want := range []int{60, 1} {
		handle, err := store.Acquire(t.Context(), "a", git, "fetch")
		require.NoError(t, err)
		packs, err := filepath.Glob(filepath.Join(handle.Objects, "pack", "*.pack"))
		require.NoError(t, err)
		require.Len(t, packs, want)
		require.NoError(t, gitIn(t.Context(), filepath.Dir(handle.Objects), "", "cat-file", "-e", "105d7d9ad3afc7bb78a0dec4d829880831605dfb"))
		handle.Close()
	}
}

// Branches of tasks that are over do not stay for ever, nor does what only they led to.
func TestOldRefsGo(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	store := mirror.New(s.dir, 1<<30)
	git := func(ctx context.Context, dir string, _ *os.File, args ...string) error {
		switch _, err := os.Stat(filepath.Join(dir, "refs", "mirror")); {
		case args[0] != "fetch":
			return gitIn(ctx, dir, "", args...)
		case err == nil:
			return nil
		}
		return gitIn(ctx, dir, commitOn("HEAD")+commitOn("old"), "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet")
	}
	lend := func() string {
		handle, err := store.Acquire(t.Context(), "a", git, "fetch")
		require.NoError(t, err)
		handle.Close()
		return filepath.Dir(handle.Objects)
	}
	dir := lend()
	refs := filepath.Join(dir, "refs", "mirror")
	head, err := os.ReadFile(filepath.Join(refs, "HEAD"))
	require.NoError(t, err)
	old, err := os.ReadFile(filepath.Join(refs, "old"))
	require.NoError(t, err)
	add := func(from, to int) {
		for n := from; n <= to; n++ {
			name := filepath.Join(refs, strconv.Itoa(n))
			require.NoError(t, os.WriteFile(name, head, 0o600))
			then := time.Now().Add(time.Duration(n) * time.Second)
			require.NoError(t, os.Chtimes(name, then, then))
		}
	}
	there := func(commit []byte) bool {
		return gitIn(t.Context(), dir, "", "cat-file", "-e", strings.TrimSpace(string(commit))) == nil
	}
	for _, name := range []string{"HEAD", "old"} {
		require.NoError(t, os.Chtimes(filepath.Join(refs, name), time.Unix(1, 0), time.Unix(1, 0)))
	}
	add(1, 999)
	reader, err := store.Acquire(t.Context(), "a", git, "fetch")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(refs, "old"))
	add(1000, 1000)
	lend()
	require.True(t, there(old), "somebody reads from it")
	reader.Close()
	lend()
	left, err := filepath.Glob(filepath.Join(refs, "*"))
	require.NoError(t, err)
	require.Len(t, left, 501)
	require.FileExists(t, filepath.Join(refs, "501"))
	require.NoFileExists(t, filepath.Join(refs, "500"))
	require.True(t, there(head))
	require.False(t, there(old))
}

// commitOn makes a commit of its own on a ref of a mirror.
func commitOn(ref string) string {
	return "commit refs/mirror/" + ref + "\ncommitter a <a@b> 1 +0000\ndata 3\n" + ref[:3] + "\n\n"
}

func gitIn(ctx context.Context, dir, in string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--git-dir=" + dir}, args...)...)
	cmd.Stdin = strings.NewReader(in)
	return cmd.Run()
}
