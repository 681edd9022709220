package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/omoi-dev/omoi/internal/contract"
)

// cycles are runs of a workflow that omoi starts by a schedule.
type cycles struct {
	took  []float64 // milliseconds, from its start to its result
	steps []string  // how long each kind of activity took
}

// runCycles runs a workflow so often, the first time with everything cold. check looks whether it did all of its work.
func runCycles[R any](ctx context.Context, f *fleet, workflow string, rounds int, check func(R) error) (cycles, error) {
	var c cycles
	for n := range rounds {
		id, begun := "bench-"+workflow+"-"+strconv.Itoa(n), time.Now()
		run, err := f.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: id, TaskQueue: contract.QueueTasks, WorkflowExecutionTimeout: taskLimit,
		}, workflow)
		if err != nil {
			return c, fmt.Errorf("start %s: %w", workflow, err)
		}
		var report R
		if err := run.Get(ctx, &report); err != nil {
			return c, fmt.Errorf("run %s: %w%s", workflow, err, f.lastWords())
		}
		c.took = append(c.took, milliseconds(time.Since(begun)))
		if err := check(report); err != nil {
			return c, err
		}
		p, err := readPast(ctx, f.temporal, id, "")
		if err != nil {
			return c, err
		}
		c.steps = append(c.steps, p.spans())
	}
	return c, nil
}

// row is the longest of them against a goal in seconds.
func (c cycles) row(what string, goal float64) Row {
	longest := slices.Max(c.took) / 1000 //nolint:mnd // milliseconds
	return Row{
		What: what + ", longest", Goal: fmt.Sprintf("under %.0f s", goal), Measured: fmt.Sprintf("%.1f s", longest),
		Value: longest, Verdict: atMost(longest, goal),
	}
}

// text says how long all of them took.
func (c cycles) text() string {
	return "From the start of the workflow to its result: " + spread(c.took) + ".\n\n" + strings.Join(c.steps, "\n\n")
}

// spans says how long each kind of activity took, from the first that was scheduled to the last
// that ended.
func (p *past) spans() string {
	var order, texts []string
	first, last, count := map[string]time.Time{}, map[string]time.Time{}, map[string]int{}
	for _, s := range p.steps {
		if count[s.name]++; count[s.name] == 1 {
			order, first[s.name] = append(order, s.name), s.scheduled
		}
		if s.ended.After(last[s.name]) {
			last[s.name] = s.ended
		}
	}
	for _, name := range order {
		texts = append(texts, fmt.Sprintf("%d %s %s", count[name], name, ms(milliseconds(last[name].Sub(first[name])))))
	}
	return strings.Join(texts, ", ") + "."
}
