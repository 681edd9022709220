package postgres_test

import (
	"bufio"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// envChild makes this binary the process that is killed.
const envChild = "OMOI_PGTEST_CHILD"

func TestChild(t *testing.T) { //nolint:paralleltest // it is a process of its own
	if os.Getenv(envChild) == "" {
		t.Skip("SKIPPED: only the other tests here run it, as a process")
	}
	_, err := os.Stdout.WriteString("URL " + pgtest.URL(t) + "\n")
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, os.Stdin) // until it is killed
	require.NoError(t, err)
}

func TestTheServerDoesNotOutliveAKilledProcess(t *testing.T) {
	t.Parallel()
	killed(t, os.Args[0], nil)
}

func TestAnOrdinaryUserHasAServerToo(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: this is an ordinary user already, so every other test shows it")
	}
	const nobody = 65534
	killed(t, copyOf(t, os.Args[0]), &syscall.Credential{Uid: nobody, Gid: nobody})
}

// killed runs TestChild, kills it, and waits until nothing of its server is left.
func killed(t *testing.T, binary string, who *syscall.Credential) {
	t.Helper()
	if os.Getenv(pgtest.EnvURL) != "" {
		t.Skipf("SKIPPED: %s is set, there is no private server", pgtest.EnvURL)
	}
	child := exec.CommandContext(t.Context(), binary, "-test.run=^TestChild$")
	child.Env = append(os.Environ(), envChild+"=1")
	child.Dir = "/"
	child.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	hold, err := child.StdinPipe()
	require.NoError(t, err)
	defer func() { _ = hold.Close() }()
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	dir := serverDir(t, out)
	pid, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	require.NoError(t, err)
	server, _, _ := strings.Cut(string(pid), "\n")
	require.NoError(t, child.Process.Kill())
	_ = child.Wait() // killed
	require.Eventually(t, func() bool {
		_, files := os.Stat(dir)
		_, process := os.Stat("/proc/" + server)
		return os.IsNotExist(files) && os.IsNotExist(process)
	}, time.Minute, 20*time.Millisecond)
}

// serverDir reads the folder of the child's server from what the child prints.
func serverDir(t *testing.T, out io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "URL "); ok {
			u, err := url.Parse(address)
			require.NoError(t, err)
			return u.Query().Get("host")
		}
		if strings.Contains(lines.Text(), "SKIPPED") || strings.HasPrefix(lines.Text(), "PASS") {
			t.Skip("SKIPPED: no PostgreSQL found")
		}
	}
	require.Fail(t, "the child ended without a server")
	return ""
}

// copyOf makes a program reachable for every user.
func copyOf(t *testing.T, program string) string {
	t.Helper()
	content, err := os.ReadFile(program)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("/tmp", "omoi-pgtest-") //nolint:usetesting // others cannot enter what t.TempDir makes
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "child")
	require.NoError(t, os.WriteFile(path, content, 0o755))
	return path
}
