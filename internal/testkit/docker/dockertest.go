//go:build linux

// Package docker gives tests a Docker engine of their own, with a small image to run.
package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"golang.org/x/sys/unix"
)

// Image is the one that every engine of [Start] has: a shell, git, and the tools of the
// conformance suite.
const Image = "omoi-test:latest"

// ErrMissing is the reason why there can be no engine here.
var ErrMissing = errors.New("there is no docker engine for tests")

const (
	startTime = time.Minute
	stopTime  = 30 * time.Second
	attempts  = 4 // an engine may give up on its containerd
)

// Engine is a running dockerd.
type Engine struct {
	Host string // its address

	dir  string
	log  *os.File
	cmd  *exec.Cmd
	stop chan struct{} // closed: the engine is to end
	done chan struct{} // closed: it has ended
}

// Start starts an engine without networks of its own and gives it [Image]. Where dockerd is
// not installed or cannot run, the error is [ErrMissing].
func Start(ctx context.Context) (*Engine, error) {
	if os.Geteuid() != 0 || runtime.GOOS != "linux" {
		return nil, fmt.Errorf("%w: starting one takes root and Linux", ErrMissing)
	}
	if _, err := exec.LookPath("dockerd"); err != nil {
		return nil, fmt.Errorf("%w: no dockerd on PATH; on Debian it comes with docker.io", ErrMissing)
	}
	dir, err := os.MkdirTemp("", "omoi-dockerd-")
	if err != nil {
		return nil, fmt.Errorf("make the engine's folder: %w", err)
	}
	e := &Engine{dir: dir, Host: "unix://" + filepath.Join(dir, "docker.sock")}
	if err = e.runAtLast(ctx); err == nil {
		err = e.importImage(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Crash kills dockerd, as a fault would, and starts it again over what it left. Its containerd
// dies with it; containers live on.
func (e *Engine) Crash(ctx context.Context) error {
	if err := e.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill dockerd: %w", err)
	}
	<-e.done
	_ = e.log.Close()
	e.endContainerd() // a dead one that nobody has reaped yet is waited for by the next dockerd, in vain
	return e.runAtLast(ctx)
}

func (e *Engine) runAtLast(ctx context.Context) (err error) {
	for range attempts {
		if err = e.run(ctx); err == nil {
			return nil
		}
	}
	return err
}

// run starts dockerd and waits until it answers.
func (e *Engine) run(ctx context.Context) error {
	log, err := os.Create(filepath.Join(e.dir, "log"))
	if err != nil {
		return fmt.Errorf("make the engine's log: %w", err)
	}
	e.log, e.stop, e.done = log, make(chan struct{}), make(chan struct{})
	begun := make(chan error, 1)
	go e.watch(begun) //nolint:contextcheck,gosec // the engine outlives who asked for it
	if err := <-begun; err != nil {
		return fmt.Errorf("start dockerd: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for !e.answers(ctx) {
		select {
		case <-e.done:
			return fmt.Errorf("dockerd ended: %s", e.lastWords())
		case <-ctx.Done():
			e.end()
			return fmt.Errorf("dockerd did not answer: %s", e.lastWords())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// watch keeps the thread that started dockerd, which is told to end if that one does.
func (e *Engine) watch(begun chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(e.done)
	at := func(name string) string { return filepath.Join(e.dir, name) }
	e.cmd = exec.CommandContext(context.Background(), "dockerd", //nolint:gosec // in a folder of our own
		"--data-root", at("data"), "--exec-root", at("exec"), "--pidfile", at("pid"),
		"-H", e.Host, "--bridge=none", "--iptables=false", "--ip6tables=false")
	e.cmd.Stdout, e.cmd.Stderr = e.log, e.log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	err := e.cmd.Start()
	begun <- err
	if err != nil {
		return
	}
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		_ = e.cmd.Wait()
	}()
	select {
	case <-waited:
		return
	case <-e.stop:
	}
	_ = e.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-waited:
	case <-time.After(stopTime):
		_ = syscall.Kill(-e.cmd.Process.Pid, syscall.SIGKILL) // with its containerd
		<-waited
	}
}

func (e *Engine) end() {
	select {
	case <-e.done:
	default:
		close(e.stop)
		<-e.done
	}
}

func (e *Engine) answers(ctx context.Context) bool {
	var dialer net.Dialer
	web := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", strings.TrimPrefix(e.Host, "unix://"))
	}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine/_ping", nil)
	if err != nil {
		return false
	}
	resp, err := web.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func (e *Engine) lastWords() string {
	text, _ := os.ReadFile(filepath.Join(e.dir, "log"))
	return string(text[max(0, len(text)-500):])
}

func (e *Engine) importImage(ctx context.Context) error {
	engine, err := client.NewClientWithOpts(client.WithHost(e.Host), client.WithAPIVersionNegotiation())
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	defer engine.Close() //nolint:errcheck // only a client
	tree, err := rootFS()
	if err != nil {
		return fmt.Errorf("make the image of tests: %w", err)
	}
	said, err := engine.ImageImport(ctx, image.ImportSource{Source: bytes.NewReader(tree), SourceName: "-"}, Image,
		image.ImportOptions{Changes: []string{"ENV PATH=/usr/bin:/bin"}})
	if err != nil {
		return fmt.Errorf("import the image of tests: %w", err)
	}
	_, err = io.Copy(io.Discard, said)
	return errors.Join(err, said.Close())
}

// Close ends the engine and all that it left: its containers, mounts and files.
func (e *Engine) Close() error {
	if e.done != nil {
		e.end()
		_ = e.log.Close()
	}
	e.endContainerd()
	return errors.Join(unmountBelow(e.dir), os.RemoveAll(e.dir))
}

// endContainerd ends the one of this engine, if the engine died without it, and forgets it.
func (e *Engine) endContainerd() {
	path := filepath.Join(e.dir, "exec", "containerd", "containerd.pid")
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	_ = os.Remove(path)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return
	}
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if bytes.Contains(line, []byte(e.dir)) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func unmountBelow(dir string) error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("list mounts: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for n := range lines { // the last mount first
		fields := strings.Fields(lines[len(lines)-1-n])
		if len(fields) < 5 || !strings.HasPrefix(fields[4], dir+"/") {
			continue
		}
		if err := unix.Unmount(fields[4], unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", fields[4], err)
		}
	}
	return nil
}
