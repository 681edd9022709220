package daytona

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/testkit/daytona/toolbox"
)

// jail is the running inside of a sandbox: its daemon and all that it started.
type jail struct {
	control *os.File
	socket  string
	through *http.Transport
	process *os.Process
	done    chan struct{} // closed when nothing of it is left
}

const startLimit = time.Minute

// enter starts the daemon of a sandbox and returns when it answers.
func (s *Server) enter(ctx context.Context, c cell) (*jail, error) {
	j := &jail{socket: socketAt(s.sockets, lastOf(filepath.Base(c.dir))), done: make(chan struct{})}
	if err := os.Remove(j.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("clear the socket: %w", err)
	}
	if err := j.launch(ctx, c); err != nil {
		return nil, err
	}
	j.through = &http.Transport{DialContext: j.dial, DisableCompression: true}
	if err := j.introduce(ctx, s.introduction(c)); err != nil {
		j.kill()
		return nil, fmt.Errorf("the daemon does not answer: %w", err)
	}
	return j, nil
}

// lastOf keeps paths of sockets short, as the system asks; the end of an id is random.
func lastOf(id string) string { return id[max(0, len(id)-12):] }

func (j *jail) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", j.socket)
}

// launch starts the program with its ends of the pipe and the listener.
func (j *jail) launch(ctx context.Context, c cell) error {
	program, err := os.Open(ownProgram())
	if err != nil {
		return fmt.Errorf("open our own program: %w", err)
	}
	defer program.Close() //nolint:errcheck // only read
	theirs, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close() //nolint:errcheck // the daemon has its own
	listener, err := listenAt(ctx, j.socket)
	if err != nil {
		return errors.Join(err, ours.Close())
	}
	defer listener.Close() //nolint:errcheck // likewise
	log, err := os.OpenFile(filepath.Join(c.dir, "daemon.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Join(err, ours.Close())
	}
	defer log.Close() //nolint:errcheck // likewise
	told, tell, err := os.Pipe()
	if err != nil {
		return errors.Join(err, ours.Close())
	}
	defer tell.Close() //nolint:errcheck // likewise
	cmd := c.command()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{program, theirs, listener, tell}
	started := make(chan error, 1)
	go j.live(cmd, c.wrapped, told, started)
	if err := <-started; err != nil {
		return errors.Join(fmt.Errorf("start the daemon: %w", err), ours.Close())
	}
	j.control = ours
	return nil
}

// live starts the program from a thread of its own, which lives as long as it does: the
// kernel's signal of death follows the thread that started it. Bubblewrap ends before the last
// process of its sandbox does, so the end is that of the first process inside.
func (j *jail) live(cmd *exec.Cmd, wrapped bool, told *os.File, started chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	defer told.Close()     //nolint:errcheck // only read
	err := cmd.Start()
	if err == nil {
		j.process = cmd.Process
	}
	started <- err
	if err != nil {
		return
	}
	gone := func() {}
	if wrapped {
		gone = firstInside(told)
	}
	_ = cmd.Wait() // how it ended is told by nobody
	gone()
	close(j.done)
}

// listenAt opens a socket whose file outlives our own end of it.
func listenAt(ctx context.Context, path string) (*os.File, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("open the socket of a daemon: %w", err)
	}
	unix, ok := ln.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(errors.New("not a socket"), ln.Close())
	}
	unix.SetUnlinkOnClose(false)
	file, err := unix.File()
	return file, errors.Join(err, unix.Close())
}

// introduce tells the daemon what it needs and waits until it answers. Secrets travel by the
// pipe: no command line and no file holds them.
func (j *jail) introduce(ctx context.Context, cfg toolbox.Config) error {
	if err := json.NewEncoder(j.control).Encode(cfg); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- j.ask(ctx) }() // the socket is open already: the answer comes when it can
	select {
	case err := <-answered:
		return err
	case <-j.done:
		cancel()
		return errors.Join(errors.New("it has ended"), <-answered)
	}
}

func (j *jail) ask(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://daemon/version", http.NoBody)
	if err != nil {
		return err
	}
	response, err := j.through.RoundTrip(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// kill ends the sandbox's inside and returns when nothing of it is left.
func (j *jail) kill() {
	_ = j.control.Close() // the daemon ends all that it started
	timer := time.NewTimer(5 * time.Second)
	defer timer.Stop()
	select {
	case <-j.done:
	case <-timer.C:
		_ = j.process.Kill()
		<-j.done
	}
	j.through.CloseIdleConnections()
}

// murder ends it at once, as a lack of memory would.
func (j *jail) murder() { _ = j.process.Signal(syscall.SIGKILL) }

func (j *jail) alive() bool {
	select {
	case <-j.done:
		return false
	default:
		return true
	}
}
