package claude

import (
	"errors"
	"os"
	"sync"
	"time"
)

// maxUnread is how many lines wait for a program that does not read.
const maxUnread = 1024

// mouth is the program's standard input. Whoever has something to say does not wait until the
// program reads it: an interrupt must not stand behind a long message.
type mouth struct {
	file *os.File

	mu     sync.Mutex
	lines  chan []byte
	closed bool
}

func newMouth(file *os.File) *mouth {
	in := &mouth{file: file, lines: make(chan []byte, maxUnread)}
	go in.write()
	return in
}

func (in *mouth) write() {
	defer func() { _ = in.file.Close() }()
	for line := range in.lines {
		if _, err := in.file.Write(line); err != nil { // nobody reads any more
			return
		}
	}
}

func (in *mouth) send(line []byte) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return errors.New("the agent's input is closed")
	}
	select {
	case in.lines <- line:
		return nil
	default:
		return errors.New("the agent does not read what it is told")
	}
}

// close says that nothing more comes, behind all that was said.
func (in *mouth) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.closed = true
		close(in.lines)
	}
}

// drop closes it for a program that has ended: what it has not read nobody will read.
func (in *mouth) drop() {
	in.close()
	_ = in.file.SetWriteDeadline(time.Now())
}
