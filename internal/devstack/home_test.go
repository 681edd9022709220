package devstack_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
)

func listen(t *testing.T) (net.Listener, int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return listener, listener.Addr().(*net.TCPAddr).Port
}

// The error of a second process names the URL of the first one.
func TestAcquire_IsExclusive(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	lock, err := devstack.Acquire(home)
	require.NoError(t, err)
	_, err = devstack.Acquire(home)
	require.Equal(t, task.CodeConflict, task.CodeOf(err))
	require.ErrorContains(t, err, "OMOI_HOME")
	require.ErrorContains(t, err, fmt.Sprintf("process %d is using", os.Getpid()))
	require.NoError(t, devstack.WriteInfo(home, devstack.Info{APIURL: "http://127.0.0.1:18000", PID: 4711}))
	_, err = devstack.Acquire(home)
	require.ErrorContains(t, err, fmt.Sprintf("process %d is using", os.Getpid()), "dev.json is of one that was killed")
	require.NoError(t, devstack.WriteInfo(home, devstack.Info{APIURL: "http://127.0.0.1:18000", PID: os.Getpid()}))
	_, err = devstack.Acquire(home)
	require.ErrorContains(t, err, "http://127.0.0.1:18000")
	require.ErrorContains(t, err, strconv.Itoa(os.Getpid()))
	require.NoError(t, lock.Release())
	lock, err = devstack.Acquire(home)
	require.NoError(t, err)
	require.NoError(t, lock.Release())
}

func TestPort_Choose(t *testing.T) {
	t.Parallel()
	busy, taken := listen(t)
	defer func() { require.NoError(t, busy.Close()) }()
	free, last := listen(t)
	require.NoError(t, free.Close())

	_, err := devstack.Port{Want: taken, Fixed: true}.Choose(t.Context(), "127.0.0.1", "api.port")
	require.ErrorContains(t, err, fmt.Sprintf("Port %d", taken))
	moved, err := devstack.Port{Want: taken}.Choose(t.Context(), "127.0.0.1", "api.port")
	require.NoError(t, err)
	require.NotEqual(t, taken, moved)
	kept, err := devstack.Port{Want: 0, Last: last}.Choose(t.Context(), "127.0.0.1", "api.port")
	require.NoError(t, err)
	require.Equal(t, last, kept)
}

// PostgreSQL is downloaded once and its checksum is verified. The served archive calls the PostgreSQL of this machine.
func TestDownload_IsUsed(t *testing.T) {
	t.Parallel()
	cfg := prepared(t)
	source := &repository{jar: jar(t, devstack.FindPostgres("", ""))}
	server := httptest.NewServer(source)
	defer server.Close()
	cfg.PostgresBin, cfg.PostgresURL, cfg.PostgresVersion = devstack.Download, server.URL, version(t)
	for range 2 {
		stack, err := devstack.Start(t.Context(), cfg)
		require.NoError(t, err)
		require.Equal(t, "1", query(t, stack.Info(), "SELECT '1'"))
		require.NoError(t, stack.Close())
	}
	require.Len(t, source.asked, 2, "one archive and one checksum")
	require.Contains(t, source.asked[0], "/io/zonky/test/postgres/embedded-postgres-binaries-"+runtime.GOOS)
}

// version returns the version of the machine's PostgreSQL.
func version(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(devstack.FindPostgres("", ""), "postgres"), "--version").Output()
	require.NoError(t, err)
	return strings.Fields(string(out))[2] + ".0"
}

func TestDownload_ChecksumMismatch(t *testing.T) {
	t.Parallel()
	cfg := prepared(t)
	server := httptest.NewServer(&repository{jar: jar(t, "/nowhere"), sum: strings.Repeat("0", 64)})
	defer server.Close()
	cfg.PostgresBin, cfg.PostgresURL = devstack.Download, server.URL
	_, err := devstack.Start(t.Context(), cfg)
	require.ErrorContains(t, err, "SHA-256")
}

func TestDownload_Unavailable(t *testing.T) {
	t.Parallel()
	cfg := prepared(t)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	cfg.PostgresBin, cfg.PostgresURL = devstack.Download, server.URL
	_, err := devstack.Start(t.Context(), cfg)
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
	require.ErrorContains(t, err, "apt-get install postgresql")
}

type repository struct {
	jar   []byte
	sum   string // served checksum; empty: the correct one
	asked []string
}

func (r *repository) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.asked = append(r.asked, request.URL.Path)
	sum := sha256.Sum256(r.jar)
	switch {
	case strings.HasSuffix(request.URL.Path, ".sha256") && r.sum != "":
		_, _ = w.Write([]byte(r.sum))
	case strings.HasSuffix(request.URL.Path, ".sha256"):
		_, _ = w.Write([]byte(hex.EncodeToString(sum[:])))
	case strings.HasSuffix(request.URL.Path, ".jar"):
		_, _ = w.Write(r.jar)
	}
}

// jar returns an archive with programs that call those of dir.
func jar(t *testing.T, dir string) []byte {
	t.Helper()
	if _, err := exec.LookPath("xz"); err != nil {
		t.Skip("SKIPPED: no xz on this machine to pack an archive with")
	}
	tree := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(tree, "bin"), 0o755))
	for _, name := range []string{"initdb", "postgres"} {
		script := fmt.Sprintf("#!/bin/sh\nexec %s \"$@\"\n", filepath.Join(dir, name))
		require.NoError(t, os.WriteFile(filepath.Join(tree, "bin", name), []byte(script), 0o755))
	}
	packed, err := exec.Command("tar", "-C", tree, "-cJf", "-", "bin").Output()
	require.NoError(t, err)
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	inner, err := archive.Create("postgres-" + runtime.GOOS + ".txz")
	require.NoError(t, err)
	_, err = inner.Write(packed)
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	return out.Bytes()
}
