package devstack

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLastWords(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"": "no output",
		"early\npanic: no luck\n\ngoroutine 1 [running]:\n" + strings.Repeat("main.main()\n", 99): "panic: no luck",
		"1\n2\n3\n4\n5\n6\n": "2\n3\n4\n5\n6",
	} {
		require.Equal(t, want, lastWords(said))
	}
}

// Linux assigns a chosen port only to a request for this port. A child that another test forks may hold the closed
// listener until its exec, so the request is repeated.
func TestPort_ChosenIsReserved(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux hands out ports at random")
	}
	port, err := Port{}.Choose(t.Context(), loopback, "any")
	require.NoError(t, err)
	target, err := net.Listen("tcp", loopback+":0")
	require.NoError(t, err)
	defer target.Close()
	passer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(loopback), Port: port}}
	_, err = passer.DialContext(t.Context(), "tcp", target.Addr().String())
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.Eventually(t, func() bool {
		asked, err := net.Listen("tcp", fmt.Sprintf("%s:%d", loopback, port))
		return err == nil && asked.Close() == nil
	}, time.Minute, 10*time.Millisecond)
}

// A program can be executed right after unpacking, while other processes start.
func TestUnpack_ProgramsAreExecutable(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for ctx.Err() == nil {
				_ = exec.CommandContext(ctx, "true").Run()
			}
		})
	}
	defer others.Wait()
	defer cancel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	for i := range 100 {
		name := fmt.Sprintf("program-%d", i)
		require.NoError(t, extract(archived(t, name, "#!/bin/sh\n"), root))
		require.NoError(t, exec.CommandContext(ctx, filepath.Join(dir, name)).Run())
	}
}

func archived(t *testing.T, name, content string) *tar.Reader {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}))
	_, err := w.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return tar.NewReader(&out)
}
