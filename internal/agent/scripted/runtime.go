package scripted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/transcript"
)

// Model is what events of this runtime name as model.
const Model = "scripted"

// Runtime is the scripted agent. The zero value is ready.
type Runtime struct{}

var _ agent.Runtime = Runtime{}

// Run parses the whole script before its first step, then follows it.
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
	loop  continuous.Loop // reports its iterations
	log   transcript.Log
	res   agent.Result
	taken string // id of a message whose step is not over
}

// errInterrupted is the cause with which a message ends a run's context.
var errInterrupted = errors.New("interrupted by a message")

// work follows the script and listens for an interrupt beside it.
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
			r.place.Next++ // a restart continues after it instead of ending the same way
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
			r.env.Inbox.Used(r.taken) // it is in the place that was saved
			r.taken = ""
		}
	}
	if !r.place.Ended && !r.res.ExitNow {
		r.complete(Step{Success: true})
	}
	return nil
}

// interrupted reports the interrupt, once.
func (r *run) interrupted(m inbox.Message) {
	r.res.Interrupted = true
	r.note("interrupted", m.Content)
	r.env.Interrupted(m)
}

// wait takes messages until the program is stopped. It has no model that could answer, so
// taking a message up is all that it does.
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
