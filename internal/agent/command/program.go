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
	"github.com/omoi-dev/omoi/internal/agent/textcut"
)

// program is one run of the program.
type program struct {
	*stdio.Process

	out   *output
	asked chan struct{} // closed to interrupt the program
	stop  func()        // closes asked
	told  []telling
	first int   // number of messages sent at its start
	size  int64 // bytes of all messages
}

// telling is a message that was sent to the program, with the offset of its end.
type telling struct {
	message inbox.Message
	end     int64
}

// start starts the program; take gets its event lines.
func start(ctx context.Context, env agent.Env, environ []string, log io.Writer, take func(*eventLine)) (*program, error) {
	p := &program{out: newOutput(log), asked: make(chan struct{})}
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

// tell writes a message to the program's standard input.
func (p *program) tell(m inbox.Message) error {
	line, err := json.Marshal(map[string]any{
		"omoi": "message", "id": m.ID, "message_type": m.Type, "content": m.Content, "sender_kind": m.SenderKind, "sender_id": m.SenderID,
		"repeated": m.Repeated,
	})
	if err == nil {
		err = p.In.Send(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("send a message to the program: %w", err)
	}
	p.size += int64(len(line)) + 1
	p.told = append(p.told, telling{m, p.size})
	return nil
}

const (
	maxKept = 64 << 10 // bytes of output that are kept
	maxTail = 5000     // bytes of output that are reported
)

// output writes the program's output to the log, and keeps its end.
type output struct {
	end textcut.Tail

	mu  sync.Mutex
	log io.Writer
}

func newOutput(log io.Writer) *output { return &output{log: log, end: textcut.Tail{Max: maxKept}} }

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = o.log.Write(p)
	return o.end.Write(p)
}

// text returns the end of the output after hide has removed secrets; hide may be nil.
func (o *output) text(hide func(string) string) string {
	text := string(o.end.Bytes())
	if hide != nil {
		text = hide(text)
	}
	return textcut.Last(text, maxTail)
}
