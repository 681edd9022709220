package local_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
)

// bed is a folder of sandboxes.
type bed struct{ cfg local.Config }

// newRoot creates a folder that the users of sandboxes may enter; the folder of t.TempDir may be closed to them.
func newRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "omoi-local-") //nolint:usetesting // the folders of t.TempDir are closed to other users
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "root")
}

func open(t *testing.T, cfg local.Config) *local.Provider {
	t.Helper()
	p, err := local.New(cfg, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	return p
}

func sweep(t *testing.T, cfg local.Config) {
	t.Helper()
	p := open(t, cfg)
	for _, installation := range []string{"conformance", "another"} {
		boxes, err := p.List(context.Background(), installation)
		require.NoError(t, err)
		for _, box := range boxes {
			require.NoError(t, p.Delete(context.Background(), box.Labels))
		}
	}
}

func (b *bed) reopen(t *testing.T) sandbox.Provider {
	t.Helper()
	return open(t, b.cfg)
}

func (b *bed) breakIt(t *testing.T) {
	t.Helper()
	require.NoError(t, os.Rename(b.cfg.Root, b.cfg.Root+".away"))
	t.Cleanup(func() { require.NoError(t, os.Rename(b.cfg.Root+".away", b.cfg.Root)) })
}

// kill kills the shim of the command.
func (b *bed) kill(t *testing.T, labels sandbox.Labels) {
	t.Helper()
	suffix := "run " + filepath.Join(b.cfg.Root, task.SandboxName(labels.SandboxID))
	for _, pid := range pids() {
		if strings.HasSuffix(commandLine(pid), suffix) {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			return
		}
	}
	t.Fatal("the sandbox has no shim")
}

func pids() []int {
	names, _ := filepath.Glob("/proc/[0-9]*")
	var found []int
	for _, name := range names {
		if pid, err := strconv.Atoi(filepath.Base(name)); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

func commandLine(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
}

func commandLines(t *testing.T) []string {
	t.Helper()
	var lines []string
	for _, pid := range pids() {
		if line := commandLine(pid); line != "" {
			lines = append(lines, line)
		}
	}
	require.NotEmpty(t, lines)
	return lines
}

// traces reads all files except those in sandboxes.
func (b *bed) traces(t *testing.T) []byte {
	t.Helper()
	var all bytes.Buffer
	require.NoError(t, filepath.WalkDir(b.cfg.Root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"ws", "home", "omoi", "tmp"}, entry.Name()):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s\n%s\n", path, text)
		return err
	}))
	require.NotZero(t, all.Len())
	return all.Bytes()
}

// order is the input of the worker process that orphan kills.
type order struct {
	Root      string          `json:"root"`
	Isolation local.Isolation `json:"isolation"`
	Labels    sandbox.Labels  `json:"labels"`
	Args      []string        `json:"args"`
	Exec      bool            `json:"exec"`  // run Args by Exec instead of Start
	Whole     bool            `json:"whole"` // report first, then run the whole life of the sandbox
}

// worker starts the worker process.
func (b *bed) worker(t *testing.T, o order) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	o.Root, o.Isolation = b.cfg.Root, b.cfg.Isolation
	text, err := json.Marshal(o)
	require.NoError(t, err)
	worker := exec.CommandContext(t.Context(), "/proc/self/exe", "orphan")
	worker.Stdin, worker.Stderr = bytes.NewReader(append(text, '\n')), t.Output()
	out, err := worker.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, worker.Start())
	return worker, bufio.NewReader(out)
}

// orphan creates and starts the sandbox in another process, and kills the process.
func (b *bed) orphan(t *testing.T, spec sandbox.Spec, cmd sandbox.Command) {
	t.Helper()
	worker, out := b.worker(t, order{Labels: spec.Labels, Args: cmd.Args})
	line, err := out.ReadString('\n')
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
	<-time.After(24 * time.Hour) // longer than any test; select {} ends a program without cgo
	return 1
}

func (o order) carryOut() error {
	p, err := local.New(local.Config{Root: o.Root, Isolation: o.Isolation}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if o.Whole {
		_, _ = os.Stdout.WriteString("begun\n")
	}
	ctx, cmd := context.Background(), sandbox.Command{Args: o.Args}
	if _, err = p.Ensure(ctx, sandbox.Spec{Labels: o.Labels}); err != nil {
		return err
	}
	if o.Exec {
		_, err = sandbox.Exec(ctx, p, o.Labels, cmd)
		return err
	}
	if err = p.Start(ctx, o.Labels, cmd); err != nil || !o.Whole {
		return err
	}
	if _, err = sandbox.Exec(ctx, p, o.Labels, sandbox.Command{Args: []string{"true"}}); err != nil {
		return err
	}
	return p.Delete(ctx, o.Labels)
}
