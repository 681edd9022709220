package scripted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/transcript"
)

// Model is the model name in the events of this runtime.
const Model = "scripted"

// Runtime is the scripted runtime. The zero value is ready to use.
type Runtime struct{}

var _ agent.Runtime = Runtime{}

// Run parses the whole script before its first step, and then runs its steps.
func (Runtime) Run(ctx context.Context, env agent.Env) (agent.Result, error) {
	script, err := Parse(env.Config.Script)
	if err != nil {
		return agent.Result{}, err
	}
	root, err := os.OpenRoot(env.Config.Workspace)
	if err != nil {
		return agent.Result{}, fmt.Errorf("open workspace: %w", err)
	}
	defer func() { _ = root.Close() }()
	r := &run{env: env, root: root, place: loadPlace(env.Config.Dir)}
	r.loop = continuous.Loop{Env: env, State: &r.place.State, Now: r.standing}
	r.loop.Limits.Signal = "TASK_COMPLETE"
	r.log.Path = filepath.Join(env.Config.Dir, "transcript.jsonl")
	defer r.log.Close()
	env.Recall(r.log.Path, r.recall)
	r.save()
	r.place.Ended = r.place.Ended || env.Done
	res, err := r.work(ctx, script)
	if err != nil || res.ExitNow || !env.Config.WaitForMessages {
		return res, err
	}
	return res, r.wait(ctx)
}

// run is one run of a script.
type run struct {
	env   agent.Env
	root  *os.Root
	place place
	loop  continuous.Loop // reports the iterations
	log   transcript.Log
	res   agent.Result
	taken string // ID of a message whose step has not ended
	// watch returns the changes of files since its last call; nil before the first command.
	watch func(ctx context.Context) (changes []diff.Change, total int, skipped []string)
}

// errInterrupted is the cause of the cancelled context after an interrupt.
var errInterrupted = errors.New("interrupted by a message")

// work runs the script and handles an interrupt meanwhile.
func (r *run) work(ctx context.Context, script Script) (agent.Result, error) {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	heard := make(chan inbox.Message, 1)
	listen, deaf := context.WithCancel(ctx)
	go func() {
		defer close(heard)
		if m, err := r.env.Inbox.TakeInterrupt(listen); err == nil {
			heard <- m
			stop(errInterrupted)
		}
	}()
	err := r.follow(inner, script)
	r.save()
	deaf()
	m, ok := <-heard
	if !ok || ctx.Err() != nil {
		return r.res, err
	}
	r.interrupted(m)
	if errors.Is(context.Cause(inner), errInterrupted) && errors.Is(err, context.Canceled) {
		err = nil
	}
	return r.res, err
}

func (r *run) follow(ctx context.Context, script Script) error {
	for r.place.Next < len(script.Steps) && !r.place.Ended && !r.res.ExitNow {
		step := r.fill(script.Steps[r.place.Next])
		if step.neverReturns() {
			r.place.Next++ // a restart continues after the step instead of repeating it
			r.save()
		}
		r.place.Turn++
		r.env.Doing.SetTurn(r.place.Turn)
		r.place.Count()
		if err := r.step(ctx, step); err != nil {
			return err
		}
		if !step.neverReturns() {
			r.place.Next++
			r.save()
		}
		if r.taken != "" {
			r.env.Inbox.Used(r.taken) // the saved state includes the message
			r.taken = ""
		}
	}
	if !r.place.Ended && !r.res.ExitNow {
		r.complete(ctx, Step{Success: true})
	}
	return nil
}

// interrupted reports an interrupt.
func (r *run) interrupted(m inbox.Message) {
	r.res.Interrupted = true
	r.note("interrupted", m.Content)
	r.env.Interrupted(m)
}

// wait acknowledges messages until the program is stopped. Without a model it cannot answer them.
func (r *run) wait(ctx context.Context) error {
	for {
		m, _, err := r.env.AwaitMessage(func() (inbox.Message, bool, error) {
			m, err := r.env.Inbox.Take(ctx)
			return m, true, err
		})
		if err != nil {
			return err
		}
		r.note("message", m.Content)
		r.env.Inbox.Used(m.ID)
	}
}
