package toolbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

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

// feed gives the shell its next command, if it is idle.
func (s *session) feed() {
	if s.busy || s.next >= len(s.commands) {
		return
	}
	c := s.commands[s.next]
	s.next++
	s.busy = true
	if err := s.give(c); err != nil {
		c.log.add(stderr, []byte("the command could not be given to its shell: "+err.Error()+"\n"))
	}
}

// wrapper runs a command in the shell itself, so that what it sets stays, and says its exit
// code. An exit within ends the shell, and nobody says anything.
const wrapper = `{ . '%[1]s/command'; } <'%[1]s/in' >'%[1]s/out' 2>'%[1]s/err' 3>&-
echo "%[2]s $?" >&3
`

func (s *session) give(c *command) error {
	dir := filepath.Join(s.dir, c.id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{"command": c.text + "\n", "run": fmt.Sprintf(wrapper, dir, c.id)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, name := range []string{"in", "out", "err"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			return err
		}
	}
	if err := c.openInput(filepath.Join(dir, "in")); err != nil {
		return err
	}
	s.collect(c, stdout, filepath.Join(dir, "out"))
	s.collect(c, stderr, filepath.Join(dir, "err"))
	_, err := fmt.Fprintf(s.stdin, ". '%s/run'\n", dir)
	return err
}

// release lets those go who wait for a command to open its output, which it never will.
func (s *session) release(c *command) {
	for _, name := range []string{"out", "err"} {
		if file, err := os.OpenFile(filepath.Join(s.dir, c.id, name), os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
			_ = file.Close()
		}
	}
}

// collect takes a stream into the log until everybody who could write is gone.
func (s *session) collect(c *command, from stream, path string) {
	c.log.open(1)
	go func() {
		defer c.log.open(-1)
		file, err := os.Open(path) // waits for a writer
		if err != nil {
			return
		}
		defer file.Close() //nolint:errcheck // only read
		lines := bufio.NewReader(file)
		for {
			line, err := lines.ReadBytes('\n')
			if len(line) > 0 && err != nil {
				line = append(line, '\n')
			}
			if len(line) > 0 {
				c.log.add(from, line)
			}
			if err != nil {
				return
			}
		}
	}()
}

// openInput keeps the command's input open for as long as it runs.
func (c *command) openInput(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.input = file
	return nil
}

func (c *command) closeInput() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.input != nil {
		_ = c.input.Close()
		c.input = nil
	}
}

func (c *command) feedInput(text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.input == nil {
		return &fault{http.StatusGone, "COMMAND_ALREADY_COMPLETED", "the command does not run"}
	}
	if c.echo {
		c.log.add(stdout, []byte(strings.TrimSuffix(text, "\n")+"\n"))
	}
	_, err := c.input.WriteString(strings.TrimSuffix(text, "\n") + "\n")
	return err
}

// end asks the group of the shell to end, kills it after grace, and forgets its logs.
func (s *session) end(grace time.Duration) {
	group := s.cmd.Process.Pid
	_ = killGroup(group, syscall.SIGTERM)
	awaitGroup(group, grace)
	_ = killGroup(group, syscall.SIGKILL)
	<-s.ended
	awaitGroup(group, time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.commands {
		c.closeInput()
		c.log.close()
	}
	_ = os.RemoveAll(s.dir)
}

// awaitGroup looks until no process of the group is left, or the time is over.
func awaitGroup(group int, limit time.Duration) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); time.Now().Before(end); <-tick.C {
		if errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) {
			return
		}
	}
}
