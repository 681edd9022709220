package continuous

import (
	"cmp"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/task"
)

// DefaultBudget is the default budget of an attempt in USD, and DefaultTotal that of continuous mode.
const (
	DefaultBudget = 10
	DefaultTotal  = 20
)

// Limits are the limits of an attempt, over all runs of the agent's program. In continuous mode Turns applies to each
// iteration, and the others to all of them.
type Limits struct {
	Turns int     // 0: no limit
	Cost  float64 // USD

	// For continuous mode.
	Iterations, Errors int
	Duration           time.Duration
	Signal             string // text with which an agent reports that the work is done
}

// Read returns the limits in the environment of the agent's program.
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

// mostLimit is the largest valid limit, which every type of limit can represent.
const mostLimit = 1e9

// Check rejects an invalid limit, because a task must not run without a limit that a user has set.
func Check(vars map[string]string) error {
	// The others may be fractions.
	least := map[string]float64{"MAX_TURNS": 1, "MAX_ITERATIONS": 1, "MAX_CONSECUTIVE_ERRORS": 1}
	for _, name := range []string{
		"MAX_TURNS", "MAX_BUDGET_USD", "MAX_TOTAL_COST_USD", "MAX_ITERATIONS", "MAX_CONSECUTIVE_ERRORS", "MAX_DURATION_SECONDS",
	} {
		if n, err := strconv.ParseFloat(vars[name], 64); vars[name] != "" && (err != nil || !(n > 0 && n >= least[name] && n <= mostLimit)) {
			return task.Invalid("env", "Invalid limit %s=%q: expected a number above 0 and at most 1000000000, an integer for counts. Next: correct it in env of execution_config, or remove it", name, textcut.First(vars[name], 100))
		}
	}
	return nil
}

// Left returns the remaining working time of continuous mode.
func (l Limits) Left(s *State) time.Duration {
	return l.Duration - time.Duration(s.WorkedMS)*time.Millisecond
}
