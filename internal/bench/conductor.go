package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/omoi-dev/omoi/internal/contract"
)

// goalConductor is how many seconds a cycle of the conductor may take.
const goalConductor = 10

// measureConductor runs the real workflow of the conductor over agents at work in one project, of
// whose tasks each tenth is about the same, by words alone.
func measureConductor(ctx context.Context, cfg Config, r *Report) (err error) {
	s, err := startServer(ctx, cfg, map[string]string{
		"OMOI_MONITORING_GUARDIAN_INTERVAL": "24h", "OMOI_MONITORING_CONDUCTOR_INTERVAL": "24h", "OMOI_REAPER_INTERVAL": "1h", // no cycle of its own
		"MONITORING_LLM_ANALYSIS_ENABLED": "false",
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	f := &fleet{server: s, rows: cfg.Alive, alive: cfg.Alive}
	if err := f.work(ctx); err != nil {
		return err
	}
	if err := f.differ(ctx); err != nil {
		return err
	}
	return f.conduct(ctx, cfg.Rounds, r)
}

// differ gives the tasks something to do, and lets each agent have changed files.
func (f *fleet) differ(ctx context.Context) error {
	for _, then := range []string{
		`UPDATE tasks t SET title = 'Add ' || k.verb || ' of ' || k.thing || ' to module ' || k.n, description = 'People ask for ' || k.verb || ' of ' || k.thing ||
				' in module ' || k.n || ', with tests and a line in the documentation.'
			FROM (SELECT id, n, (ARRAY['sorting', 'paging', 'export', 'caching', 'logging'])[1 + n % 5] AS verb,
					(ARRAY['orders', 'users', 'invoices', 'teams', 'carts', 'refunds', 'labels'])[1 + n % 7] AS thing
				FROM (SELECT id, CASE WHEN row_number() OVER (ORDER BY id) % 10 = 0 THEN 7 ELSE row_number() OVER (ORDER BY id) END AS n FROM tasks) numbered) k
			WHERE k.id = t.id`,
		`UPDATE sandbox_events e SET event_type = 'agent.file_edited', event_data = jsonb_build_object('file_path', 'src/part' || e.sequence % 40 || '.go')
			WHERE e.sequence % 5 = 0`,
		`ANALYZE tasks, sandbox_events`,
	} {
		if _, err := f.pool.Exec(ctx, then); err != nil {
			return fmt.Errorf("write what agents do: %w", err)
		}
	}
	return nil
}

// conduct runs cycles, and sees that each looked at everybody and found those of one kind.
func (f *fleet) conduct(ctx context.Context, rounds int, r *Report) error {
	c, err := runCycles(ctx, f, contract.ConductorWorkflow, rounds, func(got contract.CycleReport) error {
		if got.Agents != f.alive || got.Analyzed != 1 || got.Failed > 0 || got.Duplicates < f.alive/10-1 {
			return fmt.Errorf("the conductor reports %+v", got)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.add(c.row(fmt.Sprintf("conductor cycle over %d active agents, without a model", f.alive), goalConductor))
	r.note("Conductor",
		"The real workflow, worker, store and Temporal. All agents belong to one project. Every tenth has the same task, and "+
			"each has changed up to 40 files. %s",
		c.text())
	return nil
}
