package daytona

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

const (
	defaultExecTimeout = time.Minute
	// endPatience is how long a command that is out of time may take to die.
	endPatience = 20 * time.Second
	// chunk is how much of each stream comes with one call.
	chunk = 512 << 10
)

// Attach runs a command in a session of its own, beside the agent or after its end. What it says comes as it is said, whatever its
// length; its input is read to the end first, unless it has a terminal. Its whole tree is dead when Attach returns.
// It answers [task.CodeUnavailable] when the time is over, and with ctx's error if that ends first.
func (p *Provider) Attach(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command, streams sandbox.Streams) (int, error) {
	if err := cmd.Check(); err != nil {
		return -1, err
	}
	tb, err := p.inside(ctx, labels)
	if err != nil {
		return -1, err
	}
	id := "omoi-exec-" + rand.Text()
	e := execution{
		tb: tb, id: id, dir: dirExec + "/" + id, streams: streams, begins: startPatience, time: cmp.Or(max(cmd.Timeout, 0), defaultExecTimeout),
		there: func(ctx context.Context) error { return p.running(ctx, labels) },
	}
	code, err := e.run(ctx, envFile(cmd))
	if ctx.Err() != nil {
		err = fmt.Errorf("run a command in the sandbox: %w", ctx.Err())
	}
	return code, err
}

// execution is one command under way.
type execution struct {
	tb      *toolbox
	id      string // of its session
	dir     string
	there   func(ctx context.Context) error // says why the sandbox does not run any more
	streams sandbox.Streams
	begins  time.Duration // in which a command at a terminal has to
	time    time.Duration // of the command, from its start to its end; at a terminal with all that precedes it
}

func (e execution) run(ctx context.Context, env string) (int, error) {
	defer e.finish(ctx)
	follow := e.follow
	if e.streams.Terminal != nil {
		follow = func(ctx context.Context) (int, error) { return e.terminal(ctx, env) }
	} else if err := e.beginIn(ctx, max(e.time, startPatience), env); err != nil {
		return -1, err
	}
	within, cancel := context.WithTimeout(ctx, e.time)
	defer cancel()
	code, err := follow(within)
	if within.Err() != nil {
		err = task.Errorf(task.CodeUnavailable, "the command in the sandbox exceeded its time limit and was stopped")
	}
	return code, err
}

// beginIn is begin within a time.
func (e execution) beginIn(ctx context.Context, patience time.Duration, env string) error {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := e.begin(within, env)
	if err != nil && within.Err() != nil {
		return task.Errorf(task.CodeUnavailable, "the command in the sandbox did not start in time").WithCause(err)
	}
	return err
}

// begin runs a script of ours in a session of its own, which runs the command.
func (e execution) begin(ctx context.Context, env string) error {
	stdin := e.streams.Stdin
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	files := append(prepared(e.dir, scriptExec, env), file{e.dir + "/stdin", stdin})
	if err := e.tb.furnish(ctx, e.dir, files); err != nil {
		return err
	}
	if err := e.tb.session(ctx, e.id); err != nil {
		return err
	}
	return e.tb.run(ctx, e.id, "sh "+e.dir+"/run "+e.dir)
}

// finish ends what is left of the command, for a while longer than the caller lives, and removes what it was given and what it said.
// What cannot be removed goes with the sandbox.
func (e execution) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience+readTimeout)
	defer cancel()
	_, _ = e.tb.script(ctx, scriptLeave, e.dir)
	if e.streams.Terminal != nil {
		e.tb.endTerminal(ctx, e.id)
		return
	}
	e.tb.endSession(ctx, e.id)
}

// follow hands on what the command says until it has ended and all is said.
func (e execution) follow(ctx context.Context) (int, error) {
	for out, errs := int64(0), int64(0); ; {
		got, err := e.more(ctx, out, errs)
		if ctx.Err() != nil {
			return -1, ctx.Err()
		}
		if err != nil {
			if gone := e.there(ctx); !passing(err) || gone != nil && !passing(gone) {
				return -1, cmp.Or(gone, err)
			}
			_ = wait.For(ctx, time.Second) // the next round sees why it ended
			continue
		}
		if err := got.show(e.streams); err != nil {
			return -1, err
		}
		out, errs = after(out, got.out, e.streams.Stdout), after(errs, got.errs, e.streams.Stderr)
		if got.ended && len(got.out) < chunk && len(got.errs) < chunk {
			return got.code, nil
		}
	}
}

// beyond is an offset behind all that a command may say: nothing is asked for from there.
const beyond = 1 << 50

// after is the offset of what to ask for next. A writer that discards the rest is sent no more of it.
func after(offset int64, got []byte, to io.Writer) int64 {
	if out, bounded := to.(*sandbox.Output); bounded && out.Full() {
		return beyond
	}
	return offset + int64(len(got))
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

func (e execution) more(ctx context.Context, out, errs int64) (news, error) {
	got, err := e.tb.script(ctx, scriptMore, e.dir, strconv.FormatInt(out, 10), strconv.FormatInt(errs, 10), strconv.Itoa(chunk))
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
		return news{}, task.Errorf(task.CodeInternal, "read the output of a command in the sandbox: %s", cut(got.text))
	}
	return n, nil
}
