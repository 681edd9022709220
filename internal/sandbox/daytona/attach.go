package daytona

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

var _ sandbox.Attacher = (*Provider)(nil)

// Scripts for a person.
const (
	scriptAttach = "attach"
	scriptMore   = "more"
	scriptShell  = "shell"
)

// Attach is [Provider.Exec] with the streams of a person. What the command says comes as it is said, whatever its
// length; its input is read to the end first, unless it has a terminal.
func (p *Provider) Attach(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command, streams sandbox.Streams) (int, error) {
	tb, env, err := p.ready(ctx, labels, cmd)
	if err != nil {
		return -1, err
	}
	within, cancel := context.WithTimeout(ctx, cmp.Or(max(cmd.Timeout, 0), defaultExecTimeout))
	defer cancel()
	a := attached{execution: p.execution(tb, labels, "omoi-visit-"), streams: streams, begins: startPatience}
	code, err := a.run(within, env)
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("run a command in the sandbox: %w", ctx.Err())
	case within.Err() != nil:
		err = overtime()
	}
	return code, p.doubt(labels, err)
}

// attached is one command of a person under way.
type attached struct {
	execution

	streams sandbox.Streams
	begins  time.Duration // in which a command at a terminal has to
}

func (a attached) run(ctx context.Context, env string) (int, error) {
	defer a.finish(ctx)
	if a.streams.Terminal != nil {
		return a.terminal(ctx, env)
	}
	if err := a.begin(ctx, scriptAttach, env, a.streams.Stdin); err != nil {
		return -1, err
	}
	return a.follow(ctx)
}

// finish ends what is left of the command, for a while longer than the caller lives.
func (a attached) finish(ctx context.Context) {
	if a.streams.Terminal == nil {
		a.abandon(ctx)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience+readTimeout)
	defer cancel()
	a.leave(ctx)
	_ = a.tb.endTerminal(ctx, a.id)
}

// chunk is how much of each stream comes with one call.
const chunk = 512 << 10

// follow hands on what the command says until it has ended and all is said.
func (a attached) follow(ctx context.Context) (int, error) {
	for out, errs := int64(0), int64(0); ; {
		got, err := a.more(ctx, out, errs)
		if ctx.Err() != nil {
			return -1, ctx.Err()
		}
		if err != nil {
			if gone := a.there(ctx); !passing(err) || gone != nil && !passing(gone) {
				return -1, cmp.Or(gone, err)
			}
			_ = wait.For(ctx, time.Second) // the next round sees why it ended
			continue
		}
		if err := got.show(a.streams); err != nil {
			return -1, err
		}
		out, errs = out+int64(len(got.out)), errs+int64(len(got.errs))
		if got.ended && len(got.out)+len(got.errs) == 0 {
			return got.code, nil
		}
	}
}

// news is what a command said since the last look.
type news struct {
	ended     bool
	code      int
	out, errs []byte
}

func (n news) show(streams sandbox.Streams) error {
	if _, err := streams.Stdout.Write(n.out); err != nil {
		return err
	}
	_, err := streams.Stderr.Write(n.errs)
	return err
}

func (a attached) more(ctx context.Context, out, errs int64) (news, error) {
	got, err := a.tb.script(ctx, scriptMore, a.dir, strconv.FormatInt(out, 10), strconv.FormatInt(errs, 10),
		strconv.Itoa(chunk), strconv.FormatInt(roundsOf(longestWait), 10))
	if err != nil {
		return news{}, err
	}
	return parseNews(got)
}

func parseNews(got said) (n news, err error) {
	lines := append(strings.Split(got.text, "\n"), "", "")
	word, rest, _ := strings.Cut(strings.TrimSpace(lines[0]), " ")
	if n.ended = word == "code"; n.ended {
		n.code, err = strconv.Atoi(rest)
	}
	known := got.code == 0 && err == nil && (n.ended || word == "running")
	if n.out, err = base64.StdEncoding.DecodeString(strings.TrimSpace(lines[1])); err != nil {
		known = false
	}
	if n.errs, err = base64.StdEncoding.DecodeString(strings.TrimSpace(lines[2])); err != nil || !known {
		return news{}, task.Errorf(task.CodeInternal, "the sandbox does not say what a command said: %s", cut(got.text))
	}
	return n, nil
}
