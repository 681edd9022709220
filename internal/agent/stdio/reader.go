// Package stdio speaks to an agent's program by its standard input and output.
package stdio

import (
	"errors"
	"io"
	"os"
	"time"
)

const settleWait = 200 * time.Millisecond // for output after its end, while somebody else holds it

// Reader reads until the end of a program's output. Once the program has ended, which its owner
// says by a read deadline in the past, it waits no longer for what another process might still write.
type Reader struct {
	File  *os.File
	Ended <-chan struct{}
}

// Read reads what there is.
func (r *Reader) Read(b []byte) (int, error) {
	n, err := r.File.Read(b)
	if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	<-r.Ended
	_ = r.File.SetReadDeadline(time.Now().Add(settleWait))
	if n, err = r.File.Read(b); errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}

// Drain lets what the program has left behind write on: it would die of a closed pipe.
func Drain(file *os.File) {
	go func() {
		_ = file.SetReadDeadline(time.Time{})
		_, _ = io.Copy(io.Discard, file)
		_ = file.Close()
	}()
}
