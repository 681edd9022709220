package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/stdio"
)

// program is one run of the program.
type program struct {
	*stdio.Process

	out   *output
	asked chan struct{} // closed to interrupt it
	stop  func()        // closes it
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
	p := &program{out: &output{log: log}, asked: make(chan struct{})}
	p.stop = sync.OnceFunc(func() { close(p.asked) })
	command := proc.Command{
		Args: env.Config.Command, Dir: env.Config.Workspace, Env: environ, Output: p.out, Capture: 1,
		Interrupt: p.asked, Grace: min(env.Config.Grace/2, 5*time.Second),
	}
	process, err := stdio.Start(ctx, env.Procs, command, env.Config.ReadsMessages, func(out io.Reader) {
		lines := &sieve{rest: p.out, take: take}
		_, _ = io.Copy(lines, out)
		lines.end()
	})
	p.Process = process
	return p, err
}

// tell gives the program a message by its standard input.
func (p *program) tell(m inbox.Message) error {
	line, err := json.Marshal(map[string]any{
		"omoi": "message", "id": m.ID, "message_type": m.Type, "content": m.Content, "sender_kind": m.SenderKind, "sender_id": m.SenderID,
		"repeated": m.Repeated,
	})
	if err == nil {
		err = p.In.Send(append(line, '\n'))
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
	for _, t := range p.told {
		if t.end <= p.Heard {
			read = append(read, t.message)
		} else {
			unread = append(unread, t.message)
		}
	}
	return read, unread
}
