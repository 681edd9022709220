package continuous

import (
	"cmp"
	"context"
	"maps"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/uptime"
)

// Driver decides what follows each turn of an agent: another one, or the end. It is the same for every runtime.
type Driver struct {
	Loop

	Agent Agent
	// Prompted agents learn from their prompts to say that they are done, and how to give a verdict.
	Prompted bool
	Deaf     bool // the agent reads no messages
	Vars     map[string]string
	Environ  []string // of the test command

	Receiver *agent.MessageReceiver
	Later    []inbox.Message // additional messages for the next turn
	Time     <-chan struct{} // closed when the time of continuous mode is over

	reminded int // how often a validator was asked for its verdict
}

// NewDriver makes the driver of an agent, whose state outlives restarts. From now on its time counts.
func NewDriver(a Agent, env agent.Env, vars map[string]string, state *State) *Driver {
	state.Since = uptime.Now()
	d := &Driver{Loop: Loop{Env: env, Asks: AsksOf(vars), Limits: Read(vars, env.Config.Continuous), State: state, Now: a.Standing}, Agent: a, Vars: vars}
	if env.Config.Continuous {
		d.Time = uptime.After(d.Limits.Left(state))
	}
	return d
}

// Run takes turn after turn until the task has an outcome.
func (d *Driver) Run(ctx context.Context) (agent.Result, error) {
	d.Receiver = agent.Listen(ctx, d.Env.Inbox)
	for next := (&Step{}); ; {
		end, err := d.Agent.Turn(ctx, *next)
		if err != nil {
			return agent.Result{}, err
		}
		var res agent.Result
		if next, res, err = d.after(ctx, end); err != nil || next == nil {
			return res, err
		}
	}
}

func (d *Driver) after(ctx context.Context, end *Turn) (*Step, agent.Result, error) {
	if res, err := d.Agent.Reported(ctx); res != nil || err != nil {
		return nil, *cmp.Or(res, &agent.Result{}), err
	}
	f := d.Agent.Failure()
	switch {
	case end.Interrupted:
		return d.stand(ctx)
	case d.Env.Config.Continuous:
		return d.judge(ctx, end, f)
	case f != nil:
		return nil, d.fail(f), nil
	}
	if next, err := d.verdict(ctx, end); next != nil || err != nil {
		return next, agent.Result{}, err
	}
	next, f, err := d.addition(ctx, end, d.Env.Patience())
	switch {
	case next != nil || err != nil:
		return next, agent.Result{}, err
	case end.Interrupted:
		return d.stand(ctx)
	case f != nil:
		return nil, d.fail(f), nil
	}
	w := Look(ctx, d.Env, d.Asks)
	if err := ctx.Err(); err != nil { // nobody knows what could not be looked at
		return nil, agent.Result{}, err
	}
	if text := w.Undone(d.Env, d.Vars); text != "" {
		return nil, d.fail(&Failure{Class: task.ClassAgentError, Kind: "nothing_done", Reason: "nothing_done", Text: text}), nil
	}
	d.Agent.Complete(w)
	return nil, agent.Result{}, ctx.Err()
}

// fail reports why there is nothing more to expect, with what there is: words and bill.
func (d *Driver) fail(f *Failure) agent.Result {
	d.Agent.Failing(f)
	d.Agent.Save()
	now, data := d.Now(), map[string]any{}
	maps.Copy(data, f.Data)
	maps.Copy(data, map[string]any{
		"error": f.Text, "error_type": f.Kind, "failure_class": string(f.Class), "phase": cmp.Or(f.Phase, "initial_task"), "stop_reason": f.Reason,
		"turn": now.Turns, "session_id": now.Session, "final_output": now.Said, "final_output_length": len(now.Said),
	})
	maps.Copy(data, now.Bill)
	if f.Code != "" {
		data["reason_code"] = f.Code
	}
	if !f.Reset.IsZero() {
		data["reset_at"] = f.Reset
	}
	d.Env.Report.Emit(event.AgentError, data)
	return agent.Result{Failed: true}
}
