package continuous

import (
	"context"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/leftovers"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
)

// askToCommit returns the turn that asks an agent to commit what it has left, once an attempt; nil: there is nothing to ask, or
// no budget. Continuous mode asks with the reason why work does not pass.
func (d *Driver) askToCommit(ctx context.Context) *Step {
	now := d.Now()
	if !d.Prompted || d.State.Asked || now.Cost >= d.Limits.Cost || d.Limits.Turns > 0 && now.Turns >= d.Limits.Turns {
		return nil
	}
	left := d.Env.Leftovers.Find(ctx)
	if left == nil || len(left.Paths) == 0 {
		return nil
	}
	d.State.Asked, d.State.Account, d.asking = true, now.Said, true
	d.Agent.Save()
	text := fmt.Sprintf("Not committed: %s. Commit your work on the branch %s, and delete or ignore what is no work. omoi then commits what remains.",
		textcut.First(strings.Join(left.Paths, ", "), maxWords), d.Env.Branch())
	if left.Obstacle != "" {
		text += " omoi cannot commit now: " + left.Obstacle + "."
	}
	return &Step{Text: text}
}

// left returns what omoi commits in continuous mode if the work passes; nil: nothing, or the agent can still be asked.
func (d *Driver) left(ctx context.Context) *leftovers.Found {
	if d.Asks.Clean && !d.State.Asked && !d.Agent.Once() && d.over() == "" {
		return nil
	}
	return d.Env.Leftovers.Find(ctx)
}

// commit commits what was left, and looks at the work again. What omoi leaves out does not count as missing.
func (d *Driver) commit(ctx context.Context, left *leftovers.Found, w Work) Work {
	if left == nil {
		return w
	}
	if why := d.Env.Leftovers.Commit(ctx, left); why != "" {
		w.why = " omoi did not commit: " + textcut.First(why, maxReason) + "."
		if len(w.Wrong) > 0 {
			w.Wrong = append(w.Wrong, strings.TrimSpace(w.why))
		}
		return w
	}
	again := Look(ctx, d.Env, Asks{Pushed: d.Asks.Pushed}).Asked(d.Env, d.Vars)
	again.tested, again.Tested = w.tested, w.Tested
	return again
}
