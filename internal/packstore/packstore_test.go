package packstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/packstore"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"))
}

func open(t *testing.T, address string) checkpoint.Packs {
	t.Helper()
	s, err := packstore.Open(address)
	require.NoError(t, err)
	return s
}

func TestOpen_RefusesAddresses(t *testing.T) {
	t.Parallel()
	for address, why := range map[string]string{
		"ftp://bucket":                     "is neither s3://bucket nor file:///folder",
		"/folder":                          "is neither",
		"file://host/folder":               "is neither",
		"file:///":                         "is neither",
		"file:///folder?x=1":               "is neither",
		"s3://":                            "must name a bucket",
		"s3://bucket?regoin=x":             "region and endpoint only",
		"s3://key:secret@bucket":           "AWS_SECRET_ACCESS_KEY",
		"s3://bucket?endpoint=localhost:9": "not an http or https URL",
		"s3://buck%zz":                     "is not a URL",
	} {
		_, err := packstore.Open(address)
		require.Equal(t, task.CodeInvalid, task.CodeOf(err), address)
		require.ErrorContains(t, err, "Invalid checkpoint.store", address)
		require.ErrorContains(t, err, why, address)
		require.NotContains(t, err.Error(), "secret@", address)
	}
	open(t, "s3://bucket/a/prefix?region=eu-central-1")
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, "file://"+dir)
	keepsPacks(t, s)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "everything was deleted")
}

func TestFolder_InterruptedPutIsDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, "file://"+dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "k.part"), []byte("half"), 0o600), "as a process leaves that is killed")
	_, err := s.Read(t.Context(), "k", 0, 9)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err), "half an object is none")
	require.NoError(t, s.Delete(t.Context(), "k"))
	require.NoFileExists(t, filepath.Join(dir, "k.part"))
}

func TestFolder_ThatIsNotThereIsUnavailable(t *testing.T) {
	t.Parallel()
	s := open(t, "file://"+filepath.Join(t.TempDir(), "not mounted"))
	require.Equal(t, task.CodeUnavailable, task.CodeOf(packstore.Check(t.Context(), s)))
	_, err := s.Read(t.Context(), "k", 0, 9)
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err), "its objects are not missing")
}

// keepsPacks proves what checkpoint.Packs promises.
func keepsPacks(t *testing.T, s checkpoint.Packs) {
	t.Helper()
	ctx, pack := t.Context(), bytes.Repeat([]byte("0123456789abcdef"), 300_000) // 4.8 MB
	require.NoError(t, packstore.Check(ctx, s))
	require.NoError(t, s.Put(ctx, "a.pack", int64(len(pack)), onlyReader{bytes.NewReader(pack)}))
	var read []byte
	for len(read) < len(pack) {
		part, err := s.Read(ctx, "a.pack", int64(len(read)), 1<<20)
		require.NoError(t, err)
		require.LessOrEqual(t, len(part), 1<<20)
		read = append(read, part...)
	}
	require.True(t, bytes.Equal(pack, read))
	_, err := s.Read(ctx, "a.pack", int64(len(pack)), 10)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err), "behind the end: %v", err)
	_, err = s.Read(ctx, "never.pack", 0, 10)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err), "%v", err)

	broken := io.MultiReader(bytes.NewReader(pack[:2_000_000]), iotest.ErrReader(errBroken))
	err = s.Put(ctx, "half.pack", int64(len(pack)), broken)
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
	require.ErrorIs(t, err, errBroken, "the caller knows what it was")
	ended, end := context.WithCancel(ctx)
	end()
	require.Error(t, s.Put(ended, "late.pack", 3, onlyReader{bytes.NewReader(pack[:3])}))
	for _, key := range []string{"half.pack", "late.pack"} {
		_, err = s.Read(ctx, key, 0, 10)
		require.Equal(t, task.CodeNotFound, task.CodeOf(err), "%s is not there: %v", key, err)
	}
	for range 2 { // also what is gone
		require.NoError(t, s.Delete(ctx, "a.pack"))
		require.NoError(t, s.Delete(ctx, "half.pack"))
	}
	_, err = s.Read(ctx, "a.pack", 0, 10)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}

var errBroken = errors.New("the source broke")

// onlyReader hides that a source can seek.
type onlyReader struct{ io.Reader }
