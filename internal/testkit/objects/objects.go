// Package objects starts an S3-compatible object store for tests.
package objects

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Environ returns the credentials of the store, as the environment of its client.
func Environ() map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": "omoi-test", "AWS_SECRET_ACCESS_KEY": "omoi-test-secret"}
}

// Start starts a store with the bucket "packs", and returns its URL: versitygw, or else moto_server. Start skips the test if neither is
// installed.
func Start(t *testing.T) (endpoint string) {
	t.Helper()
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr()
	require.NoError(t, free.Close())
	_, port, _ := net.SplitHostPort(address.String())
	dir, login := t.TempDir(), Environ()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "packs"), 0o700))
	args := []string{"versitygw", "--port", address.String(), "--access", login["AWS_ACCESS_KEY_ID"], "--secret", login["AWS_SECRET_ACCESS_KEY"], "posix", dir}
	if _, err := exec.LookPath(args[0]); err != nil {
		args = []string{"moto_server", "-H", "127.0.0.1", "-p", port}
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		t.Skip("SKIPPED: neither versitygw nor moto_server is installed")
	}
	run := exec.CommandContext(context.Background(), args[0], args[1:]...) //nolint:gosec // a program of the test
	run.Dir = dir
	require.NoError(t, run.Start())
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	})
	endpoint = "http://" + address.String()
	require.Eventually(t, func() bool {
		create, err := http.NewRequestWithContext(t.Context(), http.MethodPut, endpoint+"/packs", http.NoBody) // moto asks for no login
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(create)
		return err == nil && answer.Body.Close() == nil
	}, time.Minute, 50*time.Millisecond)
	t.Logf("%s at %s", args[0], endpoint)
	return endpoint
}
