package continuous

import (
	"cmp"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/task"
)

// DefaultBudget is what an attempt may cost, in dollars, where nobody says anything else; in continuous
// mode it is [DefaultTotal].
const (
	DefaultBudget = 10
	DefaultTotal  = 20
)

// Limits are those of the attempt, over all runs of the agent's program; in continuous mode those of
// all rounds, but for the turns, which each round has.
type Limits struct {
	Turns int     // 0: none
	Cost  float64 // dollars

	// Of continuous mode.
	Iterations, Errors int
	Duration           time.Duration
	Signal             string // by which an agent says that it is done
}

// Read reads the limits from the environment of the agent's program.
func Read(vars map[string]string, continuous bool) Limits {
	l := Limits{Turns: int(number(vars["MAX_TURNS"], 0)), Cost: number(vars["MAX_BUDGET_USD"], DefaultBudget)}
	if !continuous {
		return l
	}
	total := number(vars["MAX_TOTAL_COST_USD"], DefaultTotal)
	l.Cost = min(number(vars["MAX_BUDGET_USD"], total), total)
	l.Iterations, l.Errors = int(number(vars["MAX_ITERATIONS"], 10)), int(number(vars["MAX_CONSECUTIVE_ERRORS"], 3))
	l.Duration = time.Duration(number(vars["MAX_DURATION_SECONDS"], 3600) * float64(time.Second))
	l.Signal = cmp.Or(vars["COMPLETION_SIGNAL"], "TASK_COMPLETE")
	return l
}

func number(text string, def float64) float64 {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 {
		return n
	}
	return def
}

// mostLimit is above what anybody means, and within what every limit can hold.
const mostLimit = 1e9

// Check rejects an invalid limit: a task must not run without a limit that a user has set.
func Check(vars map[string]string) error {
	least := map[string]float64{"MAX_TURNS": 1, "MAX_ITERATIONS": 1, "MAX_CONSECUTIVE_ERRORS": 1} // the rest may be less than one
	for _, name := range []string{
		"MAX_TURNS", "MAX_BUDGET_USD", "MAX_TOTAL_COST_USD", "MAX_ITERATIONS", "MAX_CONSECUTIVE_ERRORS", "MAX_DURATION_SECONDS",
	} {
		if n, err := strconv.ParseFloat(vars[name], 64); vars[name] != "" && (err != nil || !(n > 0 && n >= least[name] && n <= mostLimit)) {
			return task.Invalid("env", "Invalid limit %s=%q: expected a number above 0 and at most 1000000000, an integer for counts. Next: correct it in env of execution_config, or remove it", name, textcut.First(vars[name], 100))
		}
	}
	return nil
}

// Left is how much of the time of continuous mode is left.
func (l Limits) Left(s *State) time.Duration {
	return l.Duration - time.Duration(s.WorkedMS)*time.Millisecond
}
