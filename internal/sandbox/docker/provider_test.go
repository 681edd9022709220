//go:build linux

package docker_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/docker"
	"github.com/omoi-dev/omoi/internal/task"
)

func shell(script string) sandbox.Command {
	return sandbox.Command{Args: []string{"sh", "-c", script}}
}

func sh(t *testing.T, p sandbox.Provider, labels sandbox.Labels, script string) string {
	t.Helper()
	res, err := sandbox.Exec(t.Context(), p, labels, shell(script))
	require.NoError(t, err)
	return string(res.Stdout) + string(res.Stderr)
}

func ensure(t *testing.T, p sandbox.Provider, spec sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	box, err := p.Ensure(t.Context(), spec)
	require.NoError(t, err)
	return box
}

// TestEnsure_Privileges checks the engine's settings, and what a program can do.
func TestEnsure_Privileges(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p, labels := b.open(t), b.labels()
	box := ensure(t, p, sandbox.Spec{Labels: labels, Limits: sandbox.Limits{MemoryBytes: 256 << 20, CPUs: 1, Processes: 50}})
	require.Subset(t, box.Isolation, []string{"docker", "uid", "no-capabilities", "no-new-privileges", "read-only-root", "netns", "seccomp"})
	host := b.inspect(t, labels).HostConfig
	require.Equal(t, int64(256<<20), host.Memory)
	require.Equal(t, host.Memory, host.MemorySwap, "no swap on top")
	require.Equal(t, int64(50), *host.PidsLimit)
	require.Equal(t, int64(1e9), host.NanoCPUs)
	require.False(t, host.Privileged)
	said := sh(t, p, labels, `id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\t '
		touch /planted; touch /usr/planted; touch /etc/planted; echo fine > /tmp/file && cat /tmp/file; ls /sys/class/net`)
	require.Contains(t, said, "1000\nCapEff:0000000000000000\nCapBnd:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n")
	require.Equal(t, 3, strings.Count(said, "Read-only file system"), said)
	require.Contains(t, said, "fine\nlo\n", "nothing but its own loopback")
}

// TestEnsure_HostileScript tries to reach the host and another sandbox.
func TestEnsure_HostileScript(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p, mine, other := b.open(t), b.labels(), b.labels()
	planted := filepath.Join(t.TempDir(), "planted")
	require.NoError(t, os.WriteFile(planted, []byte("of the host"), 0o644))
	for _, labels := range []sandbox.Labels{mine, other} {
		ensure(t, p, sandbox.Spec{Labels: labels, Limits: sandbox.Limits{MemoryBytes: 64 << 20, Processes: 30}})
	}
	require.NoError(t, p.WriteFile(t.Context(), other, "/workspace/secret", 0o644, strings.NewReader("of another")))
	said := sh(t, p, mine, `cat `+planted+`; find / -name secret -path '*workspace*' 2>/dev/null
		for at in /var/run/docker.sock /run/docker.sock `+strings.TrimPrefix(engine.Host, "unix://")+`; do [ -e "$at" ] && echo engine; done
		echo x > /proc/sys/kernel/core_pattern && echo wrote; mount -t tmpfs none /tmp && echo mounted; unshare -Ur true && echo unshared
		cat /proc/1/environ | tr '\0' '\n'; dd if=/dev/zero of=/tmp/fill bs=1M count=100 2>/dev/null && echo filled; rm -f /tmp/fill; kill -9 -1 || true`)
	for _, never := range []string{"of the host", "secret\n", "engine\n", "wrote", "mounted", "unshared", "planted=", "filled"} {
		require.NotContains(t, said, never, said)
	}
	require.Equal(t, "of another", sh(t, p, other, "cat secret"))
	sh(t, p, mine, "cp /usr/bin/sh mine; chmod 6755 mine")
	require.Equal(t, "1000\n", sh(t, p, mine, "./mine -p -c 'id -u'"), "no rights come from a file")
}

// TestLifetimeEndsTheCommand uses a command that ignores SIGTERM.
func TestLifetimeEndsTheCommand(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p, labels := b.open(t), b.labels()
	ensure(t, p, sandbox.Spec{Labels: labels, Lifetime: time.Second})
	require.NoError(t, p.Start(t.Context(), labels, shell("trap '' TERM; echo up; sleep 600")))
	require.Eventually(t, func() bool {
		seen, err := p.Inspect(t.Context(), labels)
		return err == nil && seen.Agent == sandbox.StateGone && seen.State == sandbox.StateAlive
	}, 30*time.Second, 20*time.Millisecond)
	require.Equal(t, "up\n", readLog(t, p, labels), "what is left can be read")
}

func readLog(t *testing.T, p sandbox.Provider, labels sandbox.Labels) string {
	t.Helper()
	r, err := p.Log(t.Context(), labels, 0)
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return string(text)
}

// TestEnsure_FinishesVolumes resets owner and mode of the volumes, as if their creator had died before furnish.
func TestEnsure_FinishesVolumes(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p, labels := b.open(t), b.labels()
	spec := sandbox.Spec{Labels: labels}
	ensure(t, p, spec)
	c, name := b.client(t), task.SandboxName(labels.SandboxID)
	for _, mount := range b.inspect(t, labels).Mounts {
		require.NoError(t, os.Chown(mount.Source, 0, 0))
		require.NoError(t, os.Chmod(mount.Source, 0o755))
	}
	seen, err := c.ContainerStatPath(t.Context(), name, sandbox.Dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), seen.Mode.Perm())
	require.True(t, ensure(t, p, spec).Adopted)
	require.Empty(t, sh(t, p, labels, `touch mine "$HOME/mine" "$OMOI_DIR/mine"`))
	listed, err := c.ContainerList(t.Context(), container.ListOptions{All: true})
	require.NoError(t, err)
	for _, one := range listed {
		require.False(t, one.Labels["omoi.sandbox"] == labels.SandboxID && one.Labels["omoi.role"] != "sandbox", "helpers are removed")
	}
}

// TestDelete_InterruptedCreate writes a fence with an unanswered create: Delete returns an error until the create
// cannot come any more.
func TestDelete_InterruptedCreate(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p, labels := b.open(t), b.labels()
	ensure(t, p, sandbox.Spec{Labels: b.labels()}) // fills the provider's cache of the engine's capabilities
	fence := filepath.Join(b.cfg.StateDir, task.SandboxName(labels.SandboxID))
	asked := func(at time.Time) {
		text := `{"labels":{},"asked":"` + at.UTC().Format(time.RFC3339) + `"}`
		require.NoError(t, os.WriteFile(fence, []byte(text), 0o600))
	}
	asked(time.Now())
	err := p.Delete(t.Context(), labels)
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
	require.ErrorContains(t, err, "may still produce it")
	_, err = p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	require.ErrorIs(t, err, sandbox.ErrFenced, "it is fenced all the same")
	asked(time.Now().Add(-time.Hour))
	require.NoError(t, p.Delete(t.Context(), labels))
	require.NoError(t, os.WriteFile(fence, []byte(`{"labels":{"insta`), 0o600))
	require.Error(t, p.Delete(t.Context(), labels), "what was being written when its writer died")
}

// TestDelete_VolumesWithoutContainer removes the container of a sandbox, and checks that its volumes are listed and
// deleted.
func TestDelete_VolumesWithoutContainer(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p, labels := b.open(t), b.labels()
	ensure(t, p, sandbox.Spec{Labels: labels})
	require.NoError(t, b.client(t).ContainerRemove(t.Context(), task.SandboxName(labels.SandboxID), container.RemoveOptions{Force: true}))
	seen, err := p.Inspect(t.Context(), labels)
	require.NoError(t, err)
	require.Equal(t, sandbox.StateGone, seen.State)
	listed, err := p.List(t.Context(), labels.Installation)
	require.NoError(t, err)
	require.Len(t, listed, 1)
	require.Equal(t, labels, listed[0].Labels)
	all, err := p.Survey(t.Context())
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(all, func(box sandbox.Sandbox) bool { return box.Labels == labels }), "whoever asks")
	require.NoError(t, p.Delete(t.Context(), labels))
	listed, err = p.List(t.Context(), labels.Installation)
	require.NoError(t, err)
	require.Empty(t, listed)
}

// TestEnsure_MissingImage checks the advice of the error.
func TestEnsure_MissingImage(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.cfg.Image = "127.0.0.1:1/none:latest"
	for _, noPull := range []bool{true, false} {
		b.cfg.NoPull = noPull
		p := b.open(t)
		_, there, err := p.HasImage(t.Context())
		require.NoError(t, err)
		require.False(t, there)
		_, err = p.Ensure(t.Context(), sandbox.Spec{Labels: b.labels()})
		require.Equal(t, task.CodeInvalid, task.CodeOf(err))
		require.ErrorContains(t, err, "docker pull 127.0.0.1:1/none:latest")
	}
}

// TestEnsure_MissingBridge checks that a network which the engine does not have is an error.
func TestEnsure_MissingBridge(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.cfg.Network = docker.NetworkBridge
	p := b.open(t)
	_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: b.labels()})
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
	require.ErrorContains(t, err, "docker.network")
	_, _, err = p.Check(t.Context(), sandbox.NetworkHost)
	require.ErrorContains(t, err, "bridge")
	parts, version, err := p.Check(t.Context(), sandbox.NetworkNone)
	require.NoError(t, err, "a sandbox without network needs none")
	require.NotEmpty(t, version)
	require.Contains(t, parts, "netns")
}

// TestLargeFiles writes and reads files below and above the size that is kept in memory.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p, labels := b.open(t), b.labels()
	ensure(t, p, sandbox.Spec{Labels: labels})
	for _, size := range []int{0, 1<<20 - 1, 1 << 20, 5<<20 + 7} {
		content := bytes.Repeat([]byte{'x'}, size)
		require.NoError(t, p.WriteFile(t.Context(), labels, "/workspace/large", 0o600, bytes.NewReader(content)))
		r, err := p.ReadFile(t.Context(), labels, "/workspace/large")
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.True(t, bytes.Equal(content, got), "%d bytes", size)
	}
	half, err := p.ReadFile(t.Context(), labels, "/workspace/large")
	require.NoError(t, err)
	require.NoError(t, half.Close(), "nobody must read all")
}

// TestAPISocket mounts the socket's folder into a container without a network.
func TestAPISocket(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.cfg.APISocketDir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(b.cfg.APISocketDir, "api.sock"), []byte("here"), 0o644))
	require.NoError(t, os.Chmod(b.cfg.APISocketDir, 0o755))
	p, labels := b.open(t), b.labels()
	ensure(t, p, sandbox.Spec{Labels: labels})
	require.Equal(t, "here", sh(t, p, labels, "cat /run/omoi/api.sock"))
	require.Contains(t, sh(t, p, labels, "touch /run/omoi/mine"), "Read-only")
}

// TestEnsure_Cancelled checks that the next call creates the sandbox after a cancelled one.
func TestEnsure_Cancelled(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p, labels := b.open(t), b.labels()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Ensure(ctx, sandbox.Spec{Labels: labels})
	require.Error(t, err)
	require.False(t, ensure(t, p, sandbox.Spec{Labels: labels}).Adopted)
}
