package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/stdio"
)

// program is one run of the program.
type program struct {
	out     *output
	asked   chan struct{} // closed to interrupt it
	stop    func()        // closes it
	over    chan struct{} // closed once it has ended
	drained chan struct{} // closed once all that it printed was taken, too

	// Of the end, once over is closed.
	result proc.Result
	err    error // it could not be started

	stdin *os.File
	in    *stdio.Writer // nil: it is told nothing
	told  []telling
	first int   // how many of them it was told from its beginning on
	size  int64 // of all that it was told
}

// telling is a message that the program was told, and where its line ends.
type telling struct {
	message inbox.Message
	end     int64
}

// start starts the program; take gets its event lines.
func start(ctx context.Context, env agent.Env, environ []string, log io.Writer, take func(*eventLine)) (*program, error) {
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe for the program's output: %w", err)
	}
	p := &program{out: &output{log: log}, asked: make(chan struct{}), over: make(chan struct{}), drained: make(chan struct{})}
	p.stop = sync.OnceFunc(func() { close(p.asked) })
	command := proc.Command{
		Args: env.Config.Command, Dir: env.Config.Workspace, Env: environ, Stdout: stdout, Output: p.out, Capture: 1,
		Interrupt: p.asked, Grace: min(env.Config.Grace/2, 5*time.Second),
	}
	if env.Config.ReadsMessages {
		if err := p.open(); err != nil {
			return nil, errors.Join(err, out.Close(), stdout.Close())
		}
		command.Stdin = p.stdin
	}
	go p.run(ctx, env, command, func() { _ = stdout.Close(); _ = out.SetReadDeadline(time.Now()) })
	go p.read(out, take)
	return p, nil
}

func (p *program) open() error {
	stdin, in, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe for the program's input: %w", err)
	}
	p.stdin, p.in = stdin, stdio.NewWriter(in)
	return nil
}

func (p *program) run(ctx context.Context, env agent.Env, command proc.Command, ended func()) {
	defer close(p.over)
	done := env.Doing.Tool("command")
	defer done()
	p.result, p.err = env.Procs.Run(ctx, command)
	ended()
}

func (p *program) read(out *os.File, take func(*eventLine)) {
	defer close(p.drained)
	lines := &sieve{rest: p.out, take: take}
	_, _ = io.Copy(lines, &stdio.Reader{File: out, Ended: p.over})
	lines.end()
	<-p.over
	stdio.Drain(out)
}

// tell gives the program a message by its standard input.
func (p *program) tell(m inbox.Message) error {
	line, err := json.Marshal(map[string]any{
		"omoi": "message", "id": m.ID, "message_type": m.Type, "content": m.Content, "sender_kind": m.SenderKind, "sender_id": m.SenderID,
		"repeated": m.Repeated,
	})
	if err == nil {
		err = p.in.Send(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("tell the program: %w", err)
	}
	p.size += int64(len(line)) + 1
	p.told = append(p.told, telling{m, p.size})
	return nil
}

// heard are the messages that the program has read to their ends, and those that it has not, once it has ended.
func (p *program) heard() (read, unread []inbox.Message) {
	if p.in == nil {
		return nil, nil
	}
	p.in.Drop()
	written := p.in.Written()
	left, _ := io.Copy(io.Discard, p.stdin)
	_ = p.stdin.Close()
	for _, t := range p.told {
		if t.end <= written-left {
			read = append(read, t.message)
		} else {
			unread = append(unread, t.message)
		}
	}
	return read, unread
}
