package claude

import (
	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/uptime"
)

// limits also end a turn that is under way.
type limits struct {
	continuous.Limits

	time <-chan struct{} // of what is left of the time of continuous mode
}

func limitsOf(env agent.Env, vars variables, p *place) limits {
	l := limits{Limits: continuous.Read(vars, env.Config.Continuous)}
	if env.Config.Continuous {
		l.time = uptime.After(l.Left(&p.State))
	}
	return l
}

// reached is the limit that leaves no room for another request to the model; empty: none.
func (t *talk) reached() string {
	switch {
	case t.limits.Cost > 0 && t.rec.beyond(t.limits.Cost):
		return continuous.StopCost
	case t.limits.Turns > 0 && t.rec.now().used >= t.limits.Turns:
		return continuous.StopTurns
	}
	return ""
}
