package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox/daytona/standin"
)

// goalReaper is how many seconds a round of the reaper may take.
const goalReaper = 5

// strangers are sandboxes at the provider that no row of the ledger knows: each round finds them.
const strangers = 10

// measureReaper runs the real workflow of the reaper, where every task in work has its sandbox at
// the Daytona stand-in, its row in the ledger and its open workflow.
func measureReaper(ctx context.Context, cfg Config, r *Report) (err error) {
	cloud, err := emptyCloud(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cloud.Close()) }() //nolint:contextcheck // its end waits for nobody
	s, err := startServer(ctx, cfg, map[string]string{
		"DAYTONA_API_URL": cloud.URL(), "DAYTONA_API_KEY": cloud.Key(),
		"OMOI_REAPER_GRACE": "1ms", "OMOI_REAPER_INTERVAL": "1h", // strangers are orphans at once, and no round of its own
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	f := &fleet{server: s, cloud: cloud, rows: cfg.Ledger, alive: cfg.Alive}
	if err := f.settle(ctx); err != nil {
		return err
	}
	return f.reap(ctx, cfg.Rounds, r)
}

// emptyCloud is a stand-in whose sandboxes never get to run: they cost a row in its list.
func emptyCloud(ctx context.Context) (*standin.Server, error) {
	const day = 24 * time.Hour
	limits := map[standin.Kind]standin.RateLimit{} //nolint:exhaustive // the rest is as it is
	limits[standin.KindCreate] = standin.RateLimit{Calls: 1_000_000, Per: time.Minute}
	limits[standin.KindAuthenticated] = limits[standin.KindCreate]
	return standin.Start(ctx, standin.Options{CreateDelay: day, CreateWait: -1, Isolation: standin.IsolationNone, Limits: limits})
}

// reap runs rounds, the first of which meets everything cold.
func (f *fleet) reap(ctx context.Context, rounds int, r *Report) error {
	var all []float64
	var steps []string
	for n := range rounds {
		took, text, err := f.round(ctx, "bench-reaper-"+strconv.Itoa(n))
		if err != nil {
			return err
		}
		all, steps = append(all, took), append(steps, text)
	}
	longest := slices.Max(all) / 1000 //nolint:mnd // milliseconds
	r.add(Row{
		What: fmt.Sprintf("a round of the reaper over %d rows of the ledger and %d live sandboxes, the longest", f.rows, f.alive),
		Goal: "under 5 s", Measured: fmt.Sprintf("%.1f s", longest), Value: longest, Verdict: atMost(longest, goalReaper),
	})
	r.note("The reaper", "The real workflow, worker, store and Temporal, and the Daytona provider, which lists its sandboxes from the stand-in page by page; each live sandbox serves a task in work, whose workflow is open. %d more are at the provider that the ledger does not know: every round hands them to their cleanups. "+
		"From the start of the workflow to its result: %s.\n\n%s", strangers, spread(all), strings.Join(steps, "\n\n"))
	return nil
}

// round runs the reaper once and sees that it saw everything.
func (f *fleet) round(ctx context.Context, id string) (took float64, steps string, err error) {
	begun := time.Now()
	run, err := f.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: contract.QueueTasks, WorkflowExecutionTimeout: taskLimit,
	}, contract.ReaperWorkflow)
	if err != nil {
		return 0, "", fmt.Errorf("start the reaper: %w", err)
	}
	var report contract.ReaperReport
	if err := run.Get(ctx, &report); err != nil {
		return 0, "", fmt.Errorf("run the reaper: %w%s", err, f.lastWords())
	}
	took = milliseconds(time.Since(begun))
	if want := (contract.ReaperReport{Alive: f.alive + strangers, Orphans: strangers}); report != want {
		return 0, "", fmt.Errorf("the reaper found %+v, not %+v", report, want)
	}
	p, err := readPast(ctx, f.temporal, id, "")
	return took, p.spans(), err
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
