package local_test

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
)

func newLabels() sandbox.Labels {
	return sandbox.Labels{Installation: "conformance", TaskID: task.NewID(), Attempt: 1, SandboxID: task.NewSandboxID()}
}

// ensure creates a sandbox that the end of the test deletes.
func ensure(t *testing.T, cfg local.Config, spec sandbox.Spec) (*local.Provider, sandbox.Labels) {
	t.Helper()
	p := open(t, cfg)
	t.Cleanup(func() { sweep(t, cfg) })
	spec.Labels = newLabels()
	_, err := p.Ensure(t.Context(), spec)
	require.NoError(t, err)
	return p, spec.Labels
}

func run(t *testing.T, p *local.Provider, labels sandbox.Labels, args ...string) (string, int) {
	t.Helper()
	res, err := sandbox.Exec(t.Context(), p, labels, sandbox.Command{Args: args})
	require.NoError(t, err)
	return string(res.Stdout) + string(res.Stderr), res.ExitCode
}

func needPython(t *testing.T, p *local.Provider, labels sandbox.Labels) {
	t.Helper()
	if _, code := run(t, p, labels, "python3", "-c", "1"); code != 0 {
		t.Skip("SKIPPED: no python3 inside, which plays the client here")
	}
}

// TestIsolation_Host checks the isolation by bubblewrap and by the sandbox's own user.
func TestIsolation_Host(t *testing.T) {
	t.Parallel()
	needWrap(t)
	root := newRoot(t)
	p, labels := ensure(t, local.Config{Root: root, Isolation: local.IsolationRequire}, sandbox.Spec{})
	home, err := os.UserHomeDir()
	if err != nil || home == "/" {
		home = "/root"
	}
	for _, script := range []string{
		"ls " + root, "ls " + home, "cat /etc/shadow", "touch /usr/x", "touch /etc/x", "touch /x", "touch /dev/x",
		"echo x > /proc/sys/kernel/core_pattern", "mount -t tmpfs none /tmp", "unshare -Ur true", "ls /run/docker.sock /var/run/docker.sock",
		"chown 0:0 /workspace", "kill -0 " + strconv.Itoa(os.Getpid()),
	} {
		out, code := run(t, p, labels, "sh", "-c", script)
		require.NotZero(t, code, "%s: %s", script, out)
	}
	out, _ := run(t, p, labels, "sh", "-c", "grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs|Uid)' /proc/self/status; ls /proc | grep -c '^[0-9]'")
	require.Regexp(t, `CapEff:\s+0000000000000000\n`, out)
	require.Regexp(t, `NoNewPrivs:\s+1\n`, out)
	require.NotRegexp(t, `Uid:\s+0\s`, out)
}

// TestIsolation_Descriptors opens a descriptor that child processes inherit.
func TestIsolation_Descriptors(t *testing.T) {
	t.Parallel()
	for _, isolation := range []local.Isolation{local.IsolationAuto, local.IsolationNone} {
		p, labels := ensure(t, local.Config{Root: newRoot(t), Isolation: isolation}, sandbox.Spec{})
		leakDescriptor(t)
		out, _ := run(t, p, labels, "sh", "-c", "readlink /proc/$$/fd/*")
		require.NotContains(t, out, "planted")
		require.Len(t, strings.Fields(out), 3, out)
	}
}

// TestIsolation_OwnUsers needs root.
func TestIsolation_OwnUsers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: not root, so all sandboxes run as this user")
	}
	cfg := local.Config{Root: newRoot(t), Isolation: local.IsolationNone}
	p, first := ensure(t, cfg, sandbox.Spec{})
	second := newLabels()
	_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: second})
	require.NoError(t, err)
	one, _ := run(t, p, first, "id", "-u")
	two, _ := run(t, p, second, "id", "-u")
	require.NotEqual(t, one, two)
	require.NotEqual(t, "0\n", one)
	require.NoError(t, p.WriteFile(t.Context(), first, "/omoi/agent.json", 0o600, strings.NewReader("token")))
	out, code := run(t, p, second, "cat", p.Paths(first).Dir+"/agent.json")
	require.NotZero(t, code)
	require.NotContains(t, out, "token")
}

func TestNew_ClosedFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: not root, so no other user must enter the folder")
	}
	closed := filepath.Join(newRoot(t), "closed")
	require.NoError(t, os.MkdirAll(closed, 0o700))
	_, err := local.New(local.Config{Root: filepath.Join(closed, "root")}, slog.New(slog.DiscardHandler))
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
	require.Contains(t, err.Error(), closed)
}

// TestWithoutBubblewrap changes PATH, so it does not run in parallel.
func TestWithoutBubblewrap(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	_, err := local.New(local.Config{Root: newRoot(t), Isolation: local.IsolationRequire}, logger)
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
	require.Contains(t, err.Error(), "bubblewrap")

	cfg := local.Config{Root: newRoot(t)}
	p, err := local.New(cfg, logger)
	require.NoError(t, err)
	require.Equal(t, "none", p.Isolation()[0])
	require.Contains(t, log.String(), "not isolated")
	_, err = p.Ensure(t.Context(), sandbox.Spec{Labels: newLabels(), Network: sandbox.NetworkNone})
	require.Equal(t, task.CodeInvalid, task.CodeOf(err), "never less than what was asked for")
}

func TestNew_InvalidConfig(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]local.Config{
		"no root":   {},
		"isolation": {Root: "/tmp/x", Isolation: "some"},
		"network":   {Root: "/tmp/x", Network: "some"},
		"memory":    {Root: "/tmp/x", Limits: sandbox.Limits{MemoryBytes: 9 << 30}},
	} {
		_, err := local.New(cfg, slog.New(slog.DiscardHandler))
		require.Equal(t, task.CodeInvalid, task.CodeOf(err), name)
	}
}

const pyGet = `import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())`

func TestNetworkHost(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }))
	t.Cleanup(server.Close)
	p, labels := ensure(t, local.Config{Root: newRoot(t)}, sandbox.Spec{Network: sandbox.NetworkHost})
	needPython(t, p, labels)
	out, code := run(t, p, labels, "python3", "-c", pyGet, server.URL)
	require.Zero(t, code, out)
	require.Equal(t, "hello\n", out)
}

const pySocket = `import socket
s = socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect("/run/omoi/api.sock"); s.sendall(b"GET / HTTP/1.0\r\n\r\n")
print(s.recv(4096).decode().split()[1])`

func TestNetworkNone(t *testing.T) {
	t.Parallel()
	needWrap(t)
	dir := newRoot(t)
	require.NoError(t, os.MkdirAll(dir, 0o711))
	listener, err := net.Listen("unix", filepath.Join(dir, "api.sock"))
	require.NoError(t, err)
	require.NoError(t, os.Chmod(filepath.Join(dir, "api.sock"), 0o666))
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	tcp := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(tcp.Close)

	p, labels := ensure(t, local.Config{Root: newRoot(t), APISocketDir: dir}, sandbox.Spec{Network: sandbox.NetworkNone})
	needPython(t, p, labels)
	out, code := run(t, p, labels, "python3", "-c", pySocket)
	require.Zero(t, code, out)
	require.Equal(t, "404\n", out)
	out, code = run(t, p, labels, "python3", "-c", pyGet, tcp.URL)
	require.NotZero(t, code)
	require.Contains(t, out, "refused")
	_, code = run(t, p, labels, "rm", "/run/omoi/api.sock")
	require.NotZero(t, code, "the folder is not the sandbox's to change")
}
