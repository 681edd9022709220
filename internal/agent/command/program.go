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

const (
	maxKept = 64 << 10 // of the end of an output
	maxTail = 5000     // bytes of it that are reported
)

// output is what a program printed that is no event: it goes to the log, and its end is kept.
type output struct {
	log io.Writer

	mu   sync.Mutex
	kept []byte
}

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = o.log.Write(p)
	o.kept = append(o.kept, p...)
	if len(o.kept) > 2*maxKept {
		o.kept = append([]byte(nil), o.kept[len(o.kept)-maxKept:]...)
	}
	return len(p), nil
}

// text is the end of it, without what hide takes out.
func (o *output) text(hide func(string) string) string {
	o.mu.Lock()
	text := string(o.kept[max(len(o.kept)-maxKept, 0):])
	o.mu.Unlock()
	if hide != nil {
		text = hide(text)
	}
	return textcut.Last(text, maxTail)
}
