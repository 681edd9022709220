package claude

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/stdio"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
)

// program is one process of Claude Code.
type program struct {
	*stdio.Process

	notices chan *line         // lines that matter to the conversation, in order; the caller must read them
	stop    context.CancelFunc // kills the process with its children
}

// start starts the program; take gets every line.
func start(ctx context.Context, env agent.Env, command proc.Command, take func(*line)) (*program, error) {
	ctx, stop := context.WithCancel(ctx)
	p := &program{notices: make(chan *line, 256), stop: stop}
	process, err := stdio.Start(ctx, env.Procs, command, true, func(out io.Reader) { p.read(out, take) })
	if err != nil {
		stop()
		return nil, err
	}
	p.Process = process
	go func() { <-process.Over; stop() }() // the end of a process releases its context
	return p, nil
}

// over reports whether the program has ended.
func (p *program) over() bool {
	select {
	case <-p.Drained:
		return true
	default:
		return false
	}
}

// read reads lines until the output ends.
func (p *program) read(out io.Reader, take func(*line)) {
	lines, unread := bufio.NewReaderSize(out, 64<<10), 0
	for {
		raw, full, err := textcut.ReadLine(lines, maxLine, headBytes)
		l := lineOf(raw, full)
		if l != nil && l.Type == lineUnread {
			unread++
		}
		if l != nil && (l.Type != lineUnread || unread <= mostUnread) {
			take(l)
			if l.matters() {
				p.notices <- l
			}
		}
		if err != nil {
			return
		}
	}
}

// send writes a line to the program.
func (p *program) send(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a line for the agent: %w", err)
	}
	return p.In.Send(append(text, '\n'))
}

// say sends a user message with an ID, with which the program acknowledges it. A leading slash gets a prefix, because
// the program would run the text as a slash command.
func (p *program) say(id, text string) error {
	if strings.HasPrefix(strings.TrimSpace(text), "/") {
		text = "What is said: " + text
	}
	return p.send(map[string]any{"type": "user", "uuid": id, "message": map[string]any{"role": "user", "content": text}})
}

// interrupt requests the stop of the current turn.
func (p *program) interrupt(id string) error {
	return p.send(map[string]any{"type": "control_request", "request_id": id, "request": map[string]any{"subtype": "interrupt"}})
}
