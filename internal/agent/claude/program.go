package claude

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/stdio"
)

// program is one process of Claude Code.
type program struct {
	notices chan *line    // lines that steer, in their order; somebody must take them
	done    chan struct{} // closed once it has ended and all of its lines were taken

	// Of the end, once done is closed.
	result proc.Result
	err    error // it could not be started

	stop context.CancelFunc // ends its whole process tree
	in   *stdio.Writer
}

// start starts the program; take gets every line.
func start(ctx context.Context, env agent.Env, command proc.Command, take func(*line)) (*program, error) {
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe for the agent's input: %w", err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe for the agent's output: %w", err), stdin.Close(), in.Close())
	}
	ctx, stop := context.WithCancel(ctx)
	p := &program{notices: make(chan *line, 256), done: make(chan struct{}), stop: stop, in: stdio.NewWriter(in)}
	command.Stdin, command.Stdout = stdin, stdout
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.result, p.err = env.Procs.Run(ctx, command)
		_, _ = stdin.Close(), stdout.Close()
		_ = out.SetReadDeadline(time.Now())
	}()
	go func() {
		defer close(p.done)
		p.read(out, ended, take)
		<-ended
		stop()
		stdio.Drain(out)
		p.in.Drop()
	}()
	return p, nil
}

// over reports whether the program has ended.
func (p *program) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// read takes lines until the program has ended and no more of them come.
func (p *program) read(out *os.File, ended <-chan struct{}, take func(*line)) {
	lines, unread := bufio.NewReaderSize(&stdio.Reader{File: out, Ended: ended}, 64<<10), 0
	for {
		raw, full, err := readLine(lines)
		l := lineOf(raw, full)
		if l != nil && l.Type == lineUnread {
			unread++
		}
		if l != nil && (l.Type != lineUnread || unread <= mostUnread) {
			take(l)
			p.notice(l)
		}
		if err != nil {
			return
		}
	}
}

// notice passes on what steers.
func (p *program) notice(l *line) {
	if l.Type == "result" || l.Type == "user" {
		p.notices <- l
	}
}

// send writes a line to the program.
func (p *program) send(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a line for the agent: %w", err)
	}
	return p.in.Send(append(text, '\n'))
}

// say sends a message of a user under an id, by which the program says that it took it up. It
// would carry out one that begins with a slash as a command of its own.
func (p *program) say(id, text string) error {
	if strings.HasPrefix(strings.TrimSpace(text), "/") {
		text = "What is said: " + text
	}
	return p.send(map[string]any{"type": "user", "uuid": id, "message": map[string]any{"role": "user", "content": text}})
}

// interrupt asks the program to stop its turn.
func (p *program) interrupt(id string) error {
	return p.send(map[string]any{"type": "control_request", "request_id": id, "request": map[string]any{"subtype": "interrupt"}})
}
