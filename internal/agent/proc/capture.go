package proc

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// settleTime is the wait for output after the end of a command. The command's own output is in the pipe by then; later
// output of background processes is not awaited.
const settleTime = 200 * time.Millisecond

// capture keeps the start and the end of an output.
type capture struct {
	mu    sync.Mutex
	half  int
	hide  func(string) string // removes secrets; nil: keeps all
	head  bytes.Buffer
	tail  []byte
	full  int64
	also  io.Writer
	drain chan struct{} // closed when no process holds the pipe any more
}

// pipe returns the write end of a pipe for the child. The read end is read until no process holds the write end.
func (c *capture) pipe() (*os.File, error) {
	in, out, err := os.Pipe()
	if err != nil {
		close(c.drain)
		return nil, fmt.Errorf("create output pipe: %w", err)
	}
	go func() {
		defer close(c.drain)
		defer func() { _ = in.Close() }()
		_, _ = io.Copy(c, in)
	}()
	return out, nil
}

// settle waits at most settleTime for the rest of the output.
func (c *capture) settle() {
	select {
	case <-c.drain:
	case <-time.After(settleTime):
	}
}

// Write never fails.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.also != nil {
		_, _ = c.also.Write(p)
	}
	c.full += int64(len(p))
	rest := p
	if room := c.half - c.head.Len(); room > 0 {
		n := min(room, len(rest))
		c.head.Write(rest[:n])
		rest = rest[n:]
	}
	c.tail = append(c.tail, rest...)
	if len(c.tail) > 2*c.half {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-c.half:]...)
	}
	return len(p), nil
}

// text returns the kept output, with a note about missing bytes, and the full length.
func (c *capture) text() (string, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tail := c.tail
	if len(tail) > c.half {
		tail = tail[len(tail)-c.half:]
	}
	missing := c.full - int64(c.head.Len()) - int64(len(tail))
	if missing <= 0 {
		return c.shown(c.head.String() + string(tail)), c.full
	}
	return fmt.Sprintf("%s\n... %d bytes left out ...\n%s", c.shown(c.head.String()), missing, c.shown(string(tail))), c.full
}

func (c *capture) shown(text string) string {
	if c.hide == nil {
		return text
	}
	return c.hide(text)
}
