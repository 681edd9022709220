package daytona_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/conformance"
	"github.com/omoi-dev/omoi/internal/sandbox/daytona"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
	"github.com/omoi-dev/omoi/internal/testkit/daytona/openapitest"
)

// TestMain runs the tests, or the worker process that orphan kills.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "orphan" {
		os.Exit(orphanMain()) //nolint:forbidigo // a main function
	}
	_ = os.Setenv(conformance.PlantedEnv, "planted")
	goleak.VerifyTestMain(m)
}

// bed is an emulator with a provider.
type bed struct {
	server *daytonatest.Server
	cfg    daytona.Config

	mu  sync.Mutex
	saw bytes.Buffer // traffic without file contents; guarded by mu
}

// newBed starts an emulator. Without support for separate file systems, newBed skips the test.
func newBed(t *testing.T, opts daytonatest.Options, edit ...func(*daytona.Config)) *bed {
	t.Helper()
	b := &bed{}
	opts.Observe = b.see
	b.server = openapitest.Start(t, opts)
	if !b.server.Confined() {
		t.Skipf("SKIPPED: the Daytona emulator needs bubblewrap: %v", b.server.Isolation())
	}
	b.cfg = daytona.Config{
		APIURL: b.server.URL(), APIKey: b.server.Key(), Target: "us", Snapshot: "ai-agent-dev-light",
		PollMin: 10 * time.Millisecond, PollMax: 100 * time.Millisecond, DeletePatience: 30 * time.Second,
	}
	for _, e := range edit {
		e(&b.cfg)
	}
	return b
}

func (b *bed) see(e daytonatest.Exchange) {
	if strings.HasPrefix(e.Path, "/files/") {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(&b.saw, "%s %s %s %s\n", e.Request.Method, e.Request.URL, e.RequestBody, e.ResponseBody)
}

func (b *bed) traces(*testing.T) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.saw.Bytes())
}

func (b *bed) open(t *testing.T) *daytona.Provider {
	t.Helper()
	p, err := daytona.New(b.cfg, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	return p
}

// breakIt makes every call fail with an empty answer.
func (b *bed) breakIt(t *testing.T) {
	t.Helper()
	b.server.Faults().Set(daytonatest.Fault{Switch: daytonatest.BadGateway})
}

// late makes the next create time out; the sandbox appears after by.
func (b *bed) late(_ *testing.T, by time.Duration) (asked func() bool) {
	b.server.Faults().Set(daytonatest.Fault{Switch: daytonatest.LateCreate, Delay: by, Times: 1})
	return func() bool { return len(b.server.Faults().On()) == 0 }
}

// kill kills the command and its supervising script.
func (b *bed) kill(t *testing.T, labels sandbox.Labels) {
	t.Helper()
	res, err := sandbox.Exec(t.Context(), b.open(t), labels, sandbox.Command{
		Args: []string{"sh", "-c", `read -r runner since < "$OMOI_DIR/.ctl/lock" && kill -9 "$runner" "$(cat "$OMOI_DIR/.ctl/child")"`},
	})
	require.NoError(t, err)
	require.Zero(t, res.ExitCode, string(res.Stderr))
}

func commandLines(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	lines := make([]string, 0, len(files))
	for _, file := range files {
		text, _ := os.ReadFile(file) // the process may have ended
		lines = append(lines, strings.ReplaceAll(string(text), "\x00", " "))
	}
	return lines
}

// order is the input of the worker process that orphan kills.
type order struct {
	URL    string         `json:"url"`
	Key    string         `json:"key"`
	Labels sandbox.Labels `json:"labels"`
	Args   []string       `json:"args"`
}

// orphan creates and starts the sandbox in another process, and kills the process.
func (b *bed) orphan(t *testing.T, spec sandbox.Spec, cmd sandbox.Command) {
	t.Helper()
	text, err := json.Marshal(order{URL: b.cfg.APIURL, Key: b.cfg.APIKey, Labels: spec.Labels, Args: cmd.Args})
	require.NoError(t, err)
	worker := exec.CommandContext(t.Context(), "/proc/self/exe", "orphan")
	worker.Stdin, worker.Stderr = bytes.NewReader(text), t.Output()
	out, err := worker.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, worker.Start())
	said := make([]byte, len("started"))
	_, err = io.ReadFull(out, said)
	require.NoError(t, err)
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
	_, _ = os.Stdout.WriteString("started")
	<-time.After(24 * time.Hour) // longer than any test; select {} ends a program without cgo
	return 1
}

func (o order) carryOut() error {
	p, err := daytona.New(daytona.Config{APIURL: o.URL, APIKey: o.Key}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if _, err = p.Ensure(context.Background(), sandbox.Spec{Labels: o.Labels}); err != nil {
		return err
	}
	return p.Start(context.Background(), o.Labels, sandbox.Command{Args: o.Args})
}
