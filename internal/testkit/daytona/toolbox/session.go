package toolbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/omoi-dev/omoi/internal/task"
)

const entrypoint = "entrypoint" // a session that nobody may make

// session is one shell, fed with commands one after another.
type session struct {
	d     *daemon
	id    string
	dir   string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{} // closed when the shell has ended

	mu       sync.Mutex
	commands []*command // all, in their order
	next     int        // the first that was not fed yet
	busy     bool
}

// command is one that was given to a session.
type command struct {
	id   string
	text string
	log  *journal
	done chan struct{} // closed when it has an exit code
	code int
	echo bool // input shows in the log

	mu    sync.Mutex
	input *os.File // nil: not running
}

func (c *command) exitCode() *int {
	select {
	case <-c.done:
		return &c.code
	default:
		return nil
	}
}

// open starts the shell. Its third stream says which command ended, and how.
func (d *daemon) open(id string) (*session, error) {
	dir := filepath.Join(d.cfg.State, task.NewSandboxID())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of a session: %w", err)
	}
	events, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ours.Close()             //nolint:errcheck // the shell has its own
	cmd := exec.Command(d.shell()) //nolint:gosec,noctx // the sandbox's own shell, until its session is deleted
	cmd.Dir, cmd.Env, cmd.ExtraFiles = d.cfg.Home, d.environment(nil), []*os.File{ours}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = d.tree.start(cmd)
	}
	if err != nil {
		return nil, errors.Join(err, events.Close())
	}
	s := &session{d: d, id: id, dir: dir, cmd: cmd, stdin: stdin, ended: make(chan struct{})}
	go s.listen(events)
	go s.watch()
	return s, nil
}

// watch sees the shell end: a command that was running then never gets an exit code.
func (s *session) watch() {
	_ = s.d.tree.wait(s.cmd) // how a shell ended is nobody's question
	close(s.ended)
	if c := s.running(); c != nil {
		s.release(c)
	}
}

func (s *session) listen(events *os.File) {
	defer events.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(events)
	for lines.Scan() {
		id, code, _ := strings.Cut(lines.Text(), " ")
		if n, err := strconv.Atoi(code); err == nil {
			s.finish(id, n)
		}
	}
}

// finish takes the word of the shell. One that a command forged names nothing that runs.
func (s *session) finish(id string, code int) {
	c := s.running()
	if c == nil || c.id != id {
		return
	}
	c.log.settle()
	c.closeInput()
	s.mu.Lock()
	defer s.mu.Unlock()
	c.code = code
	close(c.done)
	s.busy = false
	s.feed()
}

func (s *session) running() *command {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.busy {
		return nil
	}
	return s.commands[s.next-1]
}

// add queues a command behind those that are there.
func (s *session) add(text string, echo bool) *command {
	c := &command{id: task.NewSandboxID(), text: text, echo: echo, log: newJournal(), done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands = append(s.commands, c)
	s.feed()
	return c
}
