package toolbox

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// terminal is a shell at a terminal of its own. Who connects shares it; what it said before is lost to them.
type terminal struct {
	id    string
	cwd   string
	env   map[string]string
	since time.Time
	cmd   *exec.Cmd
	ours  *os.File
	ended chan struct{} // closed when the shell has ended and all that it said is handed on
	code  int           // valid once ended

	mu      sync.Mutex
	size    sandbox.Size
	readers map[chan []byte]bool
}

// openTerminal starts a login shell.
func (d *daemon) openTerminal(id, cwd string, env map[string]string, size sandbox.Size) (*terminal, error) {
	ours, theirs, err := pty.Open()
	if err != nil {
		return nil, err
	}
	_ = pty.Setsize(ours, windowOf(size))      // a terminal of another size is still one
	defer theirs.Close()                       //nolint:errcheck // the shell has its own
	cmd := exec.Command(d.shell(), "-i", "-l") //nolint:gosec,noctx // the sandbox's own shell, until its terminal is deleted
	cmd.Dir, cmd.Env = cwd, d.environment(env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := d.tree.start(cmd); err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	t := &terminal{
		id: id, cwd: cwd, env: env, since: time.Now(), cmd: cmd, ours: ours, ended: make(chan struct{}), size: size,
		readers: map[chan []byte]bool{},
	}
	go t.watch(d)
	return t, nil
}

// watch hands on what the shell says, and forgets it when it has ended.
func (t *terminal) watch(d *daemon) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		_, _ = io.Copy(t, t.ours) // until nobody has the other end
	}()
	_ = d.tree.wait(t.cmd) // how a shell ended says its state
	select {
	case <-said:
	case <-time.After(d.cfg.Quiet): // somebody behind it still has the terminal
	}
	t.code = t.cmd.ProcessState.ExitCode()
	d.mu.Lock()
	delete(d.ptys, t.id)
	close(t.ended)
	d.mu.Unlock()
	_ = t.ours.Close()
}

// Write hands text to all who are connected.
func (t *terminal) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for reader := range t.readers {
		select {
		case reader <- append([]byte(nil), text...):
		default:
			delete(t.readers, reader) // too slow
			close(reader)
		}
	}
	return len(text), nil
}

func (t *terminal) connect() chan []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	reader := make(chan []byte, 256)
	t.readers[reader] = true
	return reader
}

func (t *terminal) disconnect(reader chan []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.readers, reader)
}

func (t *terminal) resize(size sandbox.Size) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size = size
	return pty.Setsize(t.ours, windowOf(size))
}

func windowOf(size sandbox.Size) *pty.Winsize {
	return &pty.Winsize{Rows: size.Rows, Cols: size.Columns}
}

// end kills the shell and what it has begun.
func (t *terminal) end(ctx context.Context) {
	_ = killGroup(t.cmd.Process.Pid, syscall.SIGKILL)
	select {
	case <-t.ended:
	case <-ctx.Done():
	}
}
