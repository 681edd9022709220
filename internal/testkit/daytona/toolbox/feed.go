package toolbox

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

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
