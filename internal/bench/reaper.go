package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// goalReaper is how many seconds a round of the reaper may take.
const goalReaper = 5

// strangers are sandboxes at the provider that no row of the ledger knows: each round finds them.
const strangers = 10

// measureReaper runs the real workflow of the reaper, where every task in work has its sandbox at
// the Daytona emulator, its row in the ledger and its open workflow.
func measureReaper(ctx context.Context, cfg Config, r *Report) (err error) {
	cloud, err := emptyCloud(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cloud.Close()) }() //nolint:contextcheck // its end waits for nobody
	s, err := startServer(ctx, cfg, map[string]string{
		"DAYTONA_API_URL": cloud.URL(), "DAYTONA_API_KEY": cloud.Key(),
		"OMOI_REAPER_GRACE_PERIOD": "1ms", "OMOI_REAPER_INTERVAL": "1h", // strangers are orphans at once, and no round of its own
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

// emptyCloud is an emulator whose sandboxes never get to run: they cost a row in its list.
func emptyCloud(ctx context.Context) (*daytonatest.Server, error) {
	const day = 24 * time.Hour
	limits := map[daytonatest.Kind]daytonatest.RateLimit{} //nolint:exhaustive // the rest is as it is
	limits[daytonatest.KindCreate] = daytonatest.RateLimit{Calls: 1_000_000, Per: time.Minute}
	limits[daytonatest.KindAuthenticated] = limits[daytonatest.KindCreate]
	return daytonatest.Start(ctx, daytonatest.Options{
		CreateDelay: day, CreateWait: -1, Isolation: daytonatest.IsolationNone, Limits: limits,
	})
}

// reap runs rounds, and sees that each saw everything.
func (f *fleet) reap(ctx context.Context, rounds int, r *Report) error {
	c, err := runCycles(ctx, f, contract.ReaperWorkflow, rounds, func(got contract.ReaperReport) error {
		if want := (contract.ReaperReport{Alive: f.alive + strangers, Orphans: strangers}); got != want {
			return fmt.Errorf("the reaper found %+v, not %+v", got, want)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.add(c.row(fmt.Sprintf("reaper pass over %d rows of the sandbox ledger and %d active sandboxes", f.rows, f.alive),
		goalReaper))
	r.note("Reaper", "The real workflow, worker, store, Temporal and Daytona provider, which lists its sandboxes from the emulator page by page. Each active sandbox belongs to a running task. %d orphans exist at the provider without a row in the ledger; every pass starts their cleanups. %s",
		strangers, c.text())
	return nil
}
