package claude

import (
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/task"
)

// limits are those of the attempt, over all processes of the program; in continuous mode those of
// all rounds, but for the turns, which each round has. They also end a turn that is under way.
type limits struct {
	turns int     // 0: none
	cost  float64 // dollars

	// Of continuous mode.
	iterations, errors int
	duration           time.Duration
	time               <-chan time.Time // of what is left of it
	signal             string
}

func limitsOf(env agent.Env, vars variables, p *place) limits {
	l := limits{turns: int(number(vars["MAX_TURNS"], 0)), cost: number(vars["MAX_BUDGET_USD"], defaultBudget)}
	if !env.Config.Continuous {
		return l
	}
	total := number(vars["MAX_TOTAL_COST_USD"], 20)
	l.cost = min(number(vars["MAX_BUDGET_USD"], total), total)
	l.iterations, l.errors = int(number(vars["MAX_ITERATIONS"], 10)), int(number(vars["MAX_CONSECUTIVE_ERRORS"], 3))
	l.signal = or(vars["COMPLETION_SIGNAL"], "TASK_COMPLETE")
	l.duration = time.Duration(number(vars["MAX_DURATION_SECONDS"], 3600) * float64(time.Second))
	l.time = time.After(l.duration - time.Duration(p.WorkedMS)*time.Millisecond)
	return l
}

func number(text string, def float64) float64 {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 {
		return n
	}
	return def
}

// checkLimits refuses a limit that is none: a task must not run on without one that somebody set.
func checkLimits(vars variables) error {
	for _, name := range []string{
		"MAX_TURNS", "MAX_BUDGET_USD", "MAX_TOTAL_COST_USD", "MAX_ITERATIONS", "MAX_CONSECUTIVE_ERRORS", "MAX_DURATION_SECONDS",
	} {
		if n, err := strconv.ParseFloat(vars[name], 64); vars[name] != "" && (err != nil || !(n > 0)) {
			return task.Invalid("env", "%s is %q, which is no limit: it must be a number above 0. Set it in env of execution_config, or leave it out.", name, clip(vars[name], 100))
		}
	}
	return nil
}

// reached is the limit that leaves no room for another request to the model; empty: none.
func (t *talk) reached() string {
	switch {
	case t.limits.cost > 0 && t.rec.cost() >= t.limits.cost:
		return stopCost
	case t.limits.turns > 0 && t.rec.used() >= t.limits.turns:
		return stopTurns
	}
	return ""
}
