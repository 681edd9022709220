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

// Driver decides what follows each turn of an agent: another one or the end. Driver is the same for every runtime.
type Driver struct {
	Loop

	Agent Agent
	// Prompted agents learn from their prompts how to report that the work is done, and how to give a verdict.
	Prompted bool
	Deaf     bool // the agent reads no messages
	Vars     map[string]string
	Environ  []string // environment of the test command

	Receiver *agent.MessageReceiver
	Later    []inbox.Message // messages that wait for the next turn
	Time     <-chan struct{} // closed when the time of continuous mode is over

	reminded int  // number of reminders to a validator
	asking   bool // the current turn asks the agent to commit
}

// NewDriver returns the driver of an agent, and starts the clock of its working time. state survives restarts.
func NewDriver(a Agent, env agent.Env, vars map[string]string, state *State) *Driver {
	state.Since = uptime.Now()
	d := &Driver{Loop: Loop{Env: env, Asks: AsksOf(vars), Limits: Read(vars, env.Config.Continuous), State: state, Now: a.Standing}, Agent: a, Vars: vars}
	if env.Config.Continuous {
		d.Time = uptime.After(d.Limits.Left(state))
	}
	return d
}

// Run runs turns until the task has an outcome.
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
		if next.FromMessage() {
			d.State.Account = ""
		}
	}
}

func (d *Driver) after(ctx context.Context, end *Turn) (*Step, agent.Result, error) {
	if res, err := d.Agent.Reported(ctx); res != nil || err != nil {
		if res != nil && !res.Failed {
			d.Env.Leftovers.Commit(ctx, d.Env.Leftovers.Find(ctx))
		}
		return nil, *cmp.Or(res, &agent.Result{}), err
	}
	f, asked := d.Agent.Failure(), d.asking
	d.asking = false
	switch {
	case end.Interrupted:
		return d.stand(ctx)
	case d.Env.Config.Continuous:
		return d.judge(ctx, end, f)
	case f != nil && !asked: // the work was done before the agent was asked
		return nil, d.fail(f), nil
	}
	if next, err := d.verdict(ctx, end); next != nil || err != nil {
		return next, agent.Result{}, err
	}
	if next := d.askToCommit(ctx); next != nil {
		return next, agent.Result{}, nil
	}
	next, f, err := d.addition(ctx, end, d.Env.Patience())
	switch {
	case next != nil || err != nil:
		return next, agent.Result{}, err
	case end.Interrupted:
		return d.stand(ctx)
	case f != nil && !asked:
		return nil, d.fail(f), nil
	}
	w := d.commit(ctx, d.Env.Leftovers.Find(ctx), Look(ctx, d.Env, d.Asks))
	if err := ctx.Err(); err != nil { // without ctx the check is incomplete
		return nil, agent.Result{}, err
	}
	if text := w.Undone(d.Env, d.Vars); text != "" {
		return nil, d.fail(&Failure{Class: task.ClassAgentError, Kind: "nothing_done", Reason: "nothing_done", Text: text}), nil
	}
	d.Agent.Complete(w)
	return nil, agent.Result{}, ctx.Err()
}

// fail reports a failure with the agent's last text and its bill.
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
