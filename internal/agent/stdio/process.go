// Package stdio connects to an agent's program by standard input and output.
package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/proc"
)

// Process is an agent's program that writes to its standard output and may read from its standard input.
type Process struct {
	In      *Writer       // standard input; nil: none
	Over    chan struct{} // closed when the program has ended
	Drained chan struct{} // closed when all output was read too

	// Result and Err are valid once Over is closed.
	Result proc.Result
	Err    error // the start failed

	Heard int64 // bytes of input that the program has read; valid once Drained is closed

	stdin *os.File
}

// Start starts a program and calls take with its output; take reads to the end. The program is killed when ctx ends.
func Start(ctx context.Context, procs *proc.Runner, command proc.Command, spokenTo bool, take func(io.Reader)) (*Process, error) {
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("create pipe for the agent's output: %w", err)
	}
	p := &Process{Over: make(chan struct{}), Drained: make(chan struct{})}
	command.Stdout = stdout
	if spokenTo {
		stdin, in, err := os.Pipe()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("create pipe for the agent's input: %w", err), out.Close(), stdout.Close())
		}
		p.In, p.stdin, command.Stdin = NewWriter(in), stdin, stdin
	}
	go func() {
		defer close(p.Over)
		p.Result, p.Err = procs.Run(ctx, command)
		_ = stdout.Close()
		_ = out.SetReadDeadline(time.Now())
	}()
	go func() {
		take(&reader{file: out, ended: p.Over})
		<-p.Over
		p.hangUp()
		close(p.Drained)
		_ = out.SetReadDeadline(time.Time{}) // left-over processes may still write, and a closed pipe would kill them
		_, _ = io.Copy(io.Discard, out)
		_ = out.Close()
	}()
	return p, nil
}

// hangUp closes the input of an ended program and counts the bytes that it has read.
func (p *Process) hangUp() {
	if p.In == nil {
		return
	}
	written := p.In.Drop()
	left, _ := io.Copy(io.Discard, p.stdin)
	_ = p.stdin.Close()
	p.Heard = written - left
}

const settleWait = 200 * time.Millisecond // for late output, while another process holds the pipe

// reader reads the output of a program to its end. When the program has ended, which its owner signals by a read
// deadline in the past, reader waits at most settleWait for output of other processes.
type reader struct {
	file  *os.File
	ended <-chan struct{}
}

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.file.Read(b)
	if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	<-r.ended
	_ = r.file.SetReadDeadline(time.Now().Add(settleWait))
	if n, err = r.file.Read(b); errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}
