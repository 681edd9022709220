package daytona

import (
	"cmp"
	"context"
	"crypto/rand"
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
	longestWait = 15 * time.Second // of one answer; the proxies between cut quiet calls after a minute
	quickRounds = 25               // of the script answer, a fiftieth of a second each; the others take a fifth
)

// Exec runs a command in a session of its own, beside the agent or after its end. Its whole tree
// is dead when Exec returns. It answers [task.CodeUnavailable] when the time is over, and with
// ctx's error if that ends first.
func (p *Provider) Exec(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command) (sandbox.ExecResult, error) {
	none := sandbox.ExecResult{ExitCode: -1}
	tb, env, err := p.ready(ctx, labels, cmd)
	if err != nil {
		return none, err
	}
	e := p.execution(tb, labels, "omoi-exec-")
	if err := e.begin(ctx, scriptExec, env, cmd.Stdin, strconv.Itoa(sandbox.MaxExecOutput)); err != nil {
		e.abandon(ctx)
		return none, p.doubt(labels, err)
	}
	defer e.close(ctx)
	res, err := e.await(ctx, cmp.Or(max(cmd.Timeout, 0), defaultExecTimeout))
	return res, p.doubt(labels, err)
}

// ready checks a command and answers the way to where it is to run, and its environment.
func (p *Provider) ready(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command) (tb *toolbox, env string, err error) {
	if err := cmd.Check(); err != nil {
		return nil, "", err
	}
	tb, err = p.inside(ctx, labels)
	return tb, envFile(cmd), err
}

// execution is one command under way.
type execution struct {
	tb    *toolbox
	id    string // of its session
	dir   string
	there func(ctx context.Context) error // says why the sandbox does not run any more
}

func (p *Provider) execution(tb *toolbox, labels sandbox.Labels, kind string) execution {
	id := kind + rand.Text()
	return execution{tb: tb, id: id, dir: dirExec + "/" + id, there: func(ctx context.Context) error { return p.running(ctx, labels) }}
}

// begin runs a script of ours in a session of its own, which runs the command.
func (e execution) begin(ctx context.Context, script, env string, stdin io.Reader, args ...string) error {
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	if err := e.furnish(ctx, append(prepared(e.dir, script, env), file{e.dir + "/stdin", stdin})); err != nil {
		return err
	}
	if err := e.tb.session(ctx, e.id); err != nil {
		return err
	}
	return e.tb.run(ctx, e.id, strings.Join(append([]string{"sh", e.dir + "/run", e.dir}, args...), " "))
}

func (e execution) furnish(ctx context.Context, files []file) error {
	if _, err := e.tb.upload(ctx, files...); err != nil {
		return err
	}
	return e.tb.private(ctx, e.dir)
}

// await asks until the command has ended, and ends it when its time is over.
func (e execution) await(ctx context.Context, timeout time.Duration) (sandbox.ExecResult, error) {
	none := sandbox.ExecResult{ExitCode: -1}
	for end := time.Now().Add(timeout); ; {
		left := time.Until(end)
		if left <= 0 {
			res, err := e.end(ctx)
			return res, cmp.Or(err, overtime())
		}
		res, done, err := e.answer(ctx, min(left, longestWait), "wait")
		if ctx.Err() != nil {
			e.abandon(ctx)
			return none, fmt.Errorf("run a command in the sandbox: %w", ctx.Err())
		}
		if err != nil && !passing(err) {
			e.leave(ctx)
			return none, err
		}
		if err == nil && done {
			return res, nil
		}
		if err != nil {
			if gone := e.there(ctx); gone != nil && !passing(gone) {
				return none, gone
			}
			_ = wait.For(ctx, time.Second) // the next round sees why it ended
		}
	}
}

func overtime() error {
	return task.Errorf(task.CodeUnavailable, "the command in the sandbox took too long and was ended")
}

// end kills the command's tree and answers what it said until then.
func (e execution) end(ctx context.Context) (sandbox.ExecResult, error) {
	res, done, err := e.answer(ctx, endPatience, "stop")
	if err == nil && !done {
		err = task.Errorf(task.CodeUnavailable, "the command in the sandbox does not die")
	}
	res.ExitCode = -1
	return res, err
}

// abandon ends what nobody waits for any more, for a while longer than the caller lives.
func (e execution) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience+readTimeout)
	defer cancel()
	e.leave(ctx)
	_ = e.tb.endSession(ctx, e.id)
}

// leave ends the command, and removes what it was given and what it said.
func (e execution) leave(ctx context.Context) {
	_, _ = e.tb.script(ctx, scriptLeave, e.dir) // what is left goes with the sandbox
}

func (e execution) close(ctx context.Context) {
	if ctx.Err() != nil {
		return // abandoned
	}
	_ = e.tb.endSession(ctx, e.id) // it is empty: what is left of it goes with the sandbox
}

// answer waits for the command and takes what it said.
func (e execution) answer(ctx context.Context, longest time.Duration, how string) (res sandbox.ExecResult, done bool, err error) {
	got, err := e.tb.script(ctx, scriptAnswer, e.dir, strconv.FormatInt(roundsOf(longest), 10), how)
	var n news
	if err == nil {
		n, err = parseNews(got)
	}
	if err != nil || !n.ended {
		return sandbox.ExecResult{ExitCode: -1}, false, err
	}
	return sandbox.ExecResult{ExitCode: n.code, Stdout: n.out, Stderr: n.errs}, true, nil
}

// roundsOf is how many rounds of the script answer make up a wait.
func roundsOf(longest time.Duration) int64 {
	const quick, slow = time.Second / 50, time.Second / 5
	if longest <= quickRounds*quick {
		return max(int64(longest/quick), 1)
	}
	return quickRounds + int64((longest-quickRounds*quick)/slow)
}
