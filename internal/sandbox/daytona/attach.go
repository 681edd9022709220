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
	// endPatience is the time that a timed-out command gets to die.
	endPatience = 20 * time.Second
	// chunk is the maximum number of bytes of each stream that one call returns.
	chunk = 512 << 10
)

// Attach runs a command in its own session, while the agent runs or after its end. Output arrives while the command
// runs, whatever its length. Without a terminal, Attach reads the whole input before the command starts. When Attach
// returns, all processes of the command are dead. A timeout is [task.CodeUnavailable]; if ctx ends first, the error
// wraps that of ctx.
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

// execution is one running command.
type execution struct {
	tb      *toolbox
	id      string // of the session
	dir     string
	there   func(ctx context.Context) error // returns an error if the sandbox no longer runs
	streams sandbox.Streams
	begins  time.Duration // time until a command with a terminal must start
	time    time.Duration // timeout of the command from its start; with a terminal, from the call of Attach
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

// beginIn calls begin with a timeout.
func (e execution) beginIn(ctx context.Context, patience time.Duration, env string) error {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := e.begin(within, env)
	if err != nil && within.Err() != nil {
		return task.Errorf(task.CodeUnavailable, "the command in the sandbox did not start in time").WithCause(err)
	}
	return err
}

// begin starts a script in its own session; the script runs the command.
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

// finish kills the rest of the command, and removes its folder with input and output. finish continues after ctx ends.
// If it fails, the folder stays until the sandbox is deleted.
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

// follow copies the output of the command until the command has ended and all output is copied.
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
			_ = wait.For(ctx, time.Second) // the next iteration finds the reason
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

// beyond is an offset after the end of any output: a read from there returns nothing.
const beyond = 1 << 50

// after returns the next offset to read. If the writer discards further output, the offset is [beyond].
func after(offset int64, got []byte, to io.Writer) int64 {
	if out, bounded := to.(*sandbox.Output); bounded && out.Full() {
		return beyond
	}
	return offset + int64(len(got))
}

// news is the output of a command since the last call, and whether the command has ended.
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
