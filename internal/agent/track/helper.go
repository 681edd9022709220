package track

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

// helper is a git process that answers questions. The first question starts the process; a question restarts an ended process.
type helper struct {
	git  gitcmd.Git
	args []string
	in   *os.File // nil: no process
	out  *os.File
	read *bufio.Reader
	kill context.CancelFunc
}

func newHelper(git gitcmd.Git, args ...string) *helper {
	return &helper{git: git, args: args}
}

// patience is how long an answer may take.
const patience = 20 * time.Second

// ask writes a question and calls answer to read the answer. After a failure, ask restarts the process and tries again.
func (h *helper) ask(ctx context.Context, question string, answer func(out *bufio.Reader) error) (err error) {
	for range 2 {
		if err = h.start(ctx); err != nil {
			return err
		}
		if err = h.exchange(ctx, question, answer); err == nil {
			return nil
		}
		h.stop()
	}
	return fmt.Errorf("git %s: %w", h.args[len(h.args)-1], err)
}

// exchange writes and reads at the same time, because a pipe holds 64 KiB.
func (h *helper) exchange(ctx context.Context, question string, answer func(out *bufio.Reader) error) error {
	defer context.AfterFunc(ctx, h.kill)()
	defer h.git.Pipes.Pass()()
	late := time.Now().Add(patience)
	if err := errors.Join(h.in.SetDeadline(late), h.out.SetDeadline(late)); err != nil {
		return fmt.Errorf("limit the time of an answer: %w", err)
	}
	written := make(chan error, 1)
	go func(in io.Writer) {
		_, err := io.WriteString(in, question)
		written <- err
	}(h.in)
	if err := answer(h.read); err != nil {
		return err
	}
	return <-written
}

// start starts the process, which outlives ctx.
func (h *helper) start(ctx context.Context) error {
	if err := ctx.Err(); err != nil || h.in != nil {
		return err
	}
	stdin, in, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("start git: %w", err), stdin.Close(), in.Close())
	}
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	git := h.git
	git.Timeout, git.Late, git.Pipes = math.MaxInt64, nil, nil
	go func() {
		_ = git.Stream(life, stdin, stdout, h.args...)
		_, _ = stdin.Close(), stdout.Close() // ends the reading of the answer
	}()
	h.in, h.out, h.read, h.kill = in, out, bufio.NewReaderSize(out, 64<<10), kill
	return nil
}

func (h *helper) stop() {
	if h.in != nil {
		h.kill()
		_, _ = h.in.Close(), h.out.Close()
		h.in = nil
	}
}
