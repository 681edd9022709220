//go:build linux

package docker_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/conformance"
	"github.com/omoi-dev/omoi/internal/sandbox/docker"
	"github.com/omoi-dev/omoi/internal/task"
	dockertest "github.com/omoi-dev/omoi/internal/testkit/docker"
)

// bed is the environment of one test: a link to the engine, a folder of fences, and two installations.
type bed struct {
	cfg           docker.Config
	link          *dockertest.Link
	installations [2]string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	needEngine(t)
	dir, err := os.MkdirTemp("", "omoi-docker-") //nolint:usetesting // a socket's path must be short
	require.NoError(t, err)
	link, err := engine.Link(t.Context(), dir)
	require.NoError(t, err)
	b := &bed{link: link, installations: [2]string{"a-" + task.NewSandboxID(), "b-" + task.NewSandboxID()}}
	b.cfg = config(link.Host, filepath.Join(dir, "fences"))
	t.Cleanup(func() {
		b.sweep(t)
		require.NoError(t, link.Close())
		require.NoError(t, os.RemoveAll(dir))
	})
	return b
}

func config(host, state string) docker.Config {
	return docker.Config{Host: host, StateDir: state, Image: dockertest.Image, NoPull: true, Network: docker.NetworkNone}
}

func (b *bed) open(t *testing.T) *docker.Provider {
	t.Helper()
	p, err := docker.New(b.cfg, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// sweep deletes the sandboxes of a test, and checks that none is left.
func (b *bed) sweep(t *testing.T) {
	t.Helper()
	b.link.Mend()
	p, ctx := b.open(t), context.Background()
	for _, installation := range b.installations {
		boxes, err := p.List(ctx, installation)
		require.NoError(t, err)
		for _, box := range boxes {
			require.NoError(t, p.Delete(ctx, box.Labels))
		}
		boxes, err = p.List(ctx, installation)
		require.NoError(t, err)
		require.Empty(t, boxes)
	}
}

func (b *bed) labels() sandbox.Labels {
	return sandbox.Labels{Installation: b.installations[0], TaskID: task.NewID(), Attempt: 1, SandboxID: task.NewSandboxID()}
}

// client returns a client of the engine, for actions that bypass the provider.
func (b *bed) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.NewClientWithOpts(client.WithHost(engine.Host), client.WithAPIVersionNegotiation())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func (b *bed) inspect(t *testing.T, labels sandbox.Labels) container.InspectResponse {
	t.Helper()
	found, err := b.client(t).ContainerInspect(t.Context(), task.SandboxName(labels.SandboxID))
	require.NoError(t, err)
	return found
}

// kill sends SIGKILL to the first process of the container, as a process of the host can.
func (b *bed) kill(t *testing.T, labels sandbox.Labels) {
	t.Helper()
	require.NoError(t, syscall.Kill(b.inspect(t, labels).State.Pid, syscall.SIGKILL))
}

func commandLines(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var lines []string
	for _, name := range names {
		text, _ := os.ReadFile(name)
		if line := strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " ")); line != "" {
			lines = append(lines, line)
		}
	}
	require.NotEmpty(t, lines)
	return lines
}

// traces returns the engine's records of the bed's containers and volumes, and the fences.
func (b *bed) traces(t *testing.T) []byte {
	t.Helper()
	var all bytes.Buffer
	c, mine := b.client(t), filters.NewArgs(filters.Arg("label", "omoi.installation="+b.installations[0]))
	containers, err := c.ContainerList(t.Context(), container.ListOptions{All: true, Filters: mine})
	require.NoError(t, err)
	for _, one := range containers {
		_, raw, err := c.ContainerInspectWithRaw(t.Context(), one.ID, true)
		require.NoError(t, err)
		all.Write(raw)
	}
	volumes, err := c.VolumeList(t.Context(), volume.ListOptions{Filters: mine})
	require.NoError(t, err)
	require.NoError(t, json.NewEncoder(&all).Encode([]any{containers, volumes}))
	fences, err := filepath.Glob(filepath.Join(b.cfg.StateDir, "*"))
	require.NoError(t, err)
	for _, name := range fences {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		all.Write(text)
	}
	require.NotZero(t, all.Len())
	return all.Bytes()
}

// order is the input of the worker process that orphan kills.
type order struct {
	Host     string         `json:"host"`
	StateDir string         `json:"state_dir"`
	Labels   sandbox.Labels `json:"labels"`
	Args     []string       `json:"args"`
}

// orphan creates and starts the sandbox in another process, and kills the process.
func (b *bed) orphan(t *testing.T, spec sandbox.Spec, cmd sandbox.Command) {
	t.Helper()
	text, err := json.Marshal(order{Host: b.cfg.Host, StateDir: b.cfg.StateDir, Labels: spec.Labels, Args: cmd.Args})
	require.NoError(t, err)
	worker := exec.CommandContext(t.Context(), "/proc/self/exe", "orphan")
	worker.Stdin, worker.Stderr = bytes.NewReader(append(text, '\n')), t.Output()
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
	<-time.After(24 * time.Hour) // longer than any test; select {} ends a program without cgo
	return 1
}

func (o order) carryOut() error {
	p, err := docker.New(config(o.Host, o.StateDir), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if _, err = p.Ensure(context.Background(), sandbox.Spec{Labels: o.Labels}); err != nil {
		return err
	}
	return p.Start(context.Background(), o.Labels, sandbox.Command{Args: o.Args})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Bed {
		t.Helper()
		b := newBed(t)
		return conformance.Bed{
			Provider: b.open(t), Installations: b.installations,
			Reopen:       func() sandbox.Provider { return b.open(t) },
			Orphan:       func(spec sandbox.Spec, cmd sandbox.Command) { b.orphan(t, spec, cmd) },
			Kill:         func(labels sandbox.Labels) { b.kill(t, labels) },
			Break:        b.link.Cut,
			CommandLines: func() []string { return commandLines(t) },
			Traces:       func() []byte { return b.traces(t) },
		}
	})
}
