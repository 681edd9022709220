package stdio

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// maxUnread is the maximum number of lines that wait for the program to read.
const maxUnread = 1024

// Writer is the program's standard input. Send does not wait until the program reads, so that an interrupt does not
// wait behind a long message.
type Writer struct {
	file    *os.File
	written atomic.Int64
	over    chan struct{} // closed when the last line is written

	mu     sync.Mutex
	lines  chan []byte
	closed bool
}

// NewWriter returns a writer to file, which it closes at the end.
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
		if err != nil { // the program no longer reads
			return
		}
	}
}

// Send queues a line.
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

// Close closes the input after the queued lines are written.
func (in *Writer) Close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.closed = true
		close(in.lines)
	}
}

// Drop closes the input of an ended program without waiting, and returns the number of written bytes.
func (in *Writer) Drop() (written int64) {
	in.Close()
	_ = in.file.SetWriteDeadline(time.Now())
	<-in.over
	return in.written.Load()
}
