package stdio

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// maxUnread is how many lines wait for a program that does not read.
const maxUnread = 1024

// Writer is the program's standard input. Send does not wait until the program reads, so that an interrupt does not
// wait behind a long message.
type Writer struct {
	file    *os.File
	written atomic.Int64
	over    chan struct{} // closed once nothing more is written

	mu     sync.Mutex
	lines  chan []byte
	closed bool
}

// NewWriter writes to file, and closes it in the end.
func NewWriter(file *os.File) *Writer {
	in := &Writer{file: file, lines: make(chan []byte, maxUnread), over: make(chan struct{})}
	go in.write()
	return in
}

func (in *Writer) write() {
	defer close(in.over)
	defer func() { _ = in.file.Close() }()
	for line := range in.lines {
		n, err := in.file.Write(line)
		in.written.Add(int64(n))
		if err != nil { // nobody reads any more
			return
		}
	}
}

// Send says a line.
func (in *Writer) Send(line []byte) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return errors.New("the agent's input is closed")
	}
	select {
	case in.lines <- line:
		return nil
	default:
		return errors.New("the agent does not read its input")
	}
}

// Close says that nothing more comes, behind all that was said.
func (in *Writer) Close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.closed = true
		close(in.lines)
	}
}

// Drop closes it for a program that has ended: what it has not read nobody will read. It returns how
// many bytes were written.
func (in *Writer) Drop() (written int64) {
	in.Close()
	_ = in.file.SetWriteDeadline(time.Now())
	<-in.over
	return in.written.Load()
}
