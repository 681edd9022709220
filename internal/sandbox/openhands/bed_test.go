package openhands_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/proctable"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/conformance"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/sandbox/openhands"
	"github.com/omoi-dev/omoi/internal/sandbox/place"
	"github.com/omoi-dev/omoi/internal/task"
	openhandstest "github.com/omoi-dev/omoi/internal/testkit/openhands"
)

// TestMain runs the tests, or is one of the programs that they need: this binary is omoi-agent on the server's machine, a shim, and the
// worker process that orphan kills.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "shim":
			syscall.Exit(local.ShimMain(os.Args[2:])) // os.Exit waits a second under the race detector
		case "place":
			os.Exit(place.Main(os.Args[2:], os.Stdin, os.Stdout)) //nolint:forbidigo // a main function
		case "orphan":
			os.Exit(orphanMain()) //nolint:forbidigo // a main function
		}
	}
	_ = os.Setenv(conformance.PlantedEnv, "planted")
	os.Exit(m.Run()) //nolint:forbidigo // a main function
}

// shared is the server of several tests, with the folder of sandboxes on its machine.
type shared struct {
	url, key string
	dir      string
	kept     []string // files and folders of the server
}

// onReal starts the real server for the test t, which outlasts those that use the server.
func onReal(t *testing.T) *shared {
	t.Helper()
	setup := openhandstest.Setup(t, openhandstest.Real(t))
	return &shared{
		url: openhandstest.Start(t, setup).Address(), key: setup.Keys.Session, dir: newDir(t), kept: []string{setup.Dir, setup.Output.Name()},
	}
}

func onFake(t *testing.T) *shared {
	t.Helper()
	m := openhandstest.NewMachine(t)
	return &shared{url: m.URL, key: m.Key, dir: newDir(t)}
}

// newDir returns the path of a folder that the users of sandboxes may enter; the folder of t.TempDir may be closed to them.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "omoi-openhands-") //nolint:usetesting // the folders of t.TempDir are closed to other users
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "places")
}

// bed is a provider that reaches the server through a proxy.
type bed struct {
	*shared

	url    string
	broken atomic.Bool
	names  [2]string
}

func (s *shared) newBed(t *testing.T) *bed {
	t.Helper()
	target, err := url.Parse(s.url)
	require.NoError(t, err)
	forward := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	b := &bed{shared: s, names: [2]string{"conformance-" + task.NewSandboxID(), "another-" + task.NewSandboxID()}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.broken.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	b.url = proxy.URL
	t.Cleanup(func() {
		b.broken.Store(false)
		b.sweep(t)
		proxy.Close()
	})
	return b
}

// program opens this binary.
func program(string) (io.ReadCloser, error) { return os.Open("/proc/self/exe") }

func (o order) open(log *slog.Logger) (*openhands.Provider, error) {
	return openhands.New(openhands.Config{URL: o.URL, Key: o.Key, Dir: o.Dir, Program: program}, log)
}

func (b *bed) open(t *testing.T) *openhands.Provider {
	t.Helper()
	p, err := b.order().open(slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	return p
}

// sweep deletes the sandboxes that a test has left.
func (b *bed) sweep(t *testing.T) {
	t.Helper()
	p := b.open(t)
	for _, name := range b.names {
		boxes, err := p.List(context.Background(), name)
		require.NoError(t, err)
		for _, box := range boxes {
			require.NoError(t, p.Delete(context.Background(), box.Labels))
		}
	}
}

// kill kills the shim of the command.
func (b *bed) kill(t *testing.T, labels sandbox.Labels) {
	t.Helper()
	suffix := "run " + filepath.Join(b.dir, "sandboxes", task.SandboxName(labels.SandboxID))
	for _, p := range proctable.All() {
		if strings.HasSuffix(commandLine(p.PID), suffix) {
			require.NoError(t, syscall.Kill(p.PID, syscall.SIGKILL))
			return
		}
	}
	t.Fatal("the sandbox has no shim")
}

func commandLine(pid int) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
}

func commandLines() (lines []string) {
	for _, p := range proctable.All() {
		if line := commandLine(p.PID); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// traces reads all files of the server and of the provider except those in sandboxes.
func (b *bed) traces(t *testing.T) []byte {
	t.Helper()
	var all bytes.Buffer
	for _, root := range append([]string{b.dir}, b.kept...) {
		require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case os.IsNotExist(err): // of another test
				return nil
			case err != nil:
				return err
			case entry.IsDir() && slices.Contains([]string{"ws", "home", "omoi", "tmp", "bin"}, entry.Name()):
				return fs.SkipDir
			case !entry.Type().IsRegular():
				return nil
			}
			text, _ := os.ReadFile(path)
			fmt.Fprintf(&all, "%s\n%s\n", path, text)
			return nil
		}))
	}
	require.NotZero(t, all.Len())
	return all.Bytes()
}

// order is the input of the worker process that orphan kills.
type order struct {
	URL    string         `json:"url"`
	Key    string         `json:"key"`
	Dir    string         `json:"dir"`
	Labels sandbox.Labels `json:"labels"`
	Args   []string       `json:"args"`
}

func (b *bed) order() order { return order{URL: b.url, Key: b.key, Dir: b.dir} }

// orphan creates and starts the sandbox in another process, and kills the process.
func (b *bed) orphan(t *testing.T, spec sandbox.Spec, cmd sandbox.Command) {
	t.Helper()
	o := b.order()
	o.Labels, o.Args = spec.Labels, cmd.Args
	text, err := json.Marshal(o)
	require.NoError(t, err)
	worker := exec.CommandContext(t.Context(), "/proc/self/exe", "orphan")
	worker.Stdin, worker.Stderr = bytes.NewReader(text), t.Output()
	out, err := worker.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, worker.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "started\n", line)
	require.NoError(t, worker.Process.Kill())
	require.Error(t, worker.Wait(), "it was killed")
}

// orphanMain is the other process: it creates and starts the sandbox, then waits until it is killed.
func orphanMain() int {
	var o order
	err := json.NewDecoder(os.Stdin).Decode(&o)
	if err == nil {
		err = o.carryOut()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, _ = os.Stdout.WriteString("started\n")
	_ = syscall.Pause()
	return 1
}

func (o order) carryOut() error {
	p, err := o.open(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if _, err = p.Ensure(context.Background(), sandbox.Spec{Labels: o.Labels}); err != nil {
		return err
	}
	return p.Start(context.Background(), o.Labels, sandbox.Command{Args: o.Args})
}
