package acp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
)

// scene is what a turn meets.
type scene struct {
	status  int  // of the answers of the model's endpoint; 0: it does not answer; 200: its answers are empty
	keyless bool // the program gets no key
	// end ends the turn once the agent has asked the model, and over judges the end; nil: the turn ends by itself.
	end  func(t *talk)
	over func(t *talk, o *ending) error
}

// ending is the end of a trial.
type ending struct {
	failure *continuous.Failure // nil: a success
	detail  string
	leaves  bool // processes that the program leaves are no fault
}

const (
	checkKey     = "sk-omoi-check"
	checkSilence = 5 * time.Minute  // after which an agent that repeats a request without a word is stopped
	checkWait    = 30 * time.Second // default of Check.Wait
)

// trial runs one turn in a scene.
func (c Check) trial(ctx context.Context, s scene, dir string, procs *proc.Runner) (o ending, err error) {
	address, asked, done, err := endpoint(s.status)
	if err != nil {
		return o, err
	}
	defer done()
	env, err := c.Dialect.checkEnv(c.Path, dir, address)
	if err != nil {
		return o, err
	}
	env.Procs = procs
	t, err := Runtime{Dialect: c.Dialect, Silence: checkSilence, CancelWait: c.Wait}.open(ctx, env)
	if err != nil {
		return o, err
	}
	defer t.rec.log.Close()
	if s.keyless {
		maps.DeleteFunc(t.environ, func(_, value string) bool { return value == checkKey })
	}
	t.Receiver, t.end = &agent.MessageReceiver{}, &turn{}
	switch err := t.ensure(ctx); {
	case err != nil && s.keyless && ctx.Err() == nil: // most programs refuse to open a session
		o.failure = &continuous.Failure{Class: agent.ClassOf(err), Text: err.Error()}
		return o, nil
	case err != nil:
		return o, err
	}
	defer t.halt()
	err = t.act(ctx, s, asked, &o)
	o.failure = t.Failure()
	return o, err
}

// act runs the turn, which the scene may end.
func (t *talk) act(ctx context.Context, s scene, asked <-chan struct{}, o *ending) error {
	if s.end == nil {
		return t.converse(ctx, t.words("", nil), nil)
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-asked:
			s.end(t)
		case <-over:
		}
	}()
	if err := t.converse(ctx, t.words("", nil), nil); err != nil {
		return err
	}
	select {
	case <-asked:
		return s.over(t, o)
	default:
		return errors.New("the turn ended before the agent asked the model")
	}
}

// cancelled is the scene in which omoi cancels the turn.
func cancelled() scene {
	const why = "check"
	return scene{
		end: func(t *talk) { t.rec.enough(why) },
		over: func(t *talk, o *ending) error {
			if t.end.stop != why || t.end.result == nil {
				return errors.New("the turn did not end when it was cancelled")
			}
			o.detail = "The turn ended, and no process is left."
			return nil
		},
	}
}

// inputEnds is the scene in which the standard input of the program ends. A program that does not end is killed.
func inputEnds() scene {
	return scene{
		end: func(t *talk) {
			t.conn.In.Close()
			select {
			case <-t.conn.Drained:
			case <-time.After(t.CancelWait):
				t.conn.stop()
			}
		},
		over: func(t *talk, o *ending) error {
			<-t.conn.Drained
			if t.Failure() == nil {
				return errors.New("the turn counts as a success")
			}
			o.leaves, o.detail = true, "The program ended by itself."
			if t.conn.Result.Outcome != proc.Exited {
				o.detail = fmt.Sprintf("The program ran for another %s and was killed.", t.CancelWait)
			}
			return nil
		},
	}
}

// checkEnv returns what a trial runs in.
func (d Dialect) checkEnv(path, dir, address string) (agent.Env, error) {
	work, home := filepath.Join(dir, "work"), filepath.Join(dir, "home")
	for _, dir := range []string{work, home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return agent.Env{}, err
		}
	}
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	for name, value := range d.VarsAt(address, "omoi-check", checkKey) {
		environ = append(environ, name+"="+value)
	}
	return agent.Env{
		Config: agentconfig.Config{
			Workspace: work, Dir: dir, Program: path, Title: "Say hello", Description: "Say hello.", Grace: 8 * time.Second, ToolTimeout: time.Minute,
		},
		Environ: environ,
		Keep:    func(string, string) {}, Report: nowhere{}, Doing: &reporter.Activity{}, Log: slog.New(slog.DiscardHandler),
	}, nil
}

// nowhere drops events.
type nowhere struct{}

func (nowhere) Emit(string, map[string]any) {}
