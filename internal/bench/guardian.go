package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// goalGuardian is how many seconds a cycle of the guardian may take.
const goalGuardian = 10

// trajectory is how many events each agent has left, as many as a judgement looks at.
const trajectory = 200

// measureGuardian runs the real workflow of the guardian over agents at work, of whom each tenth
// goes round and round, with the rules alone.
func measureGuardian(ctx context.Context, cfg Config, r *Report) (err error) {
	s, err := startServer(ctx, cfg, map[string]string{
		"OMOI_MONITORING_GUARDIAN_INTERVAL": "24h", "OMOI_REAPER_INTERVAL": "1h", // no cycle of its own
		"OMOI_MONITORING_ANALYSIS_CACHE": "0s", "MONITORING_LLM_ANALYSIS_ENABLED": "false",
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	f := &fleet{server: s, rows: cfg.Alive, alive: cfg.Alive}
	if err := f.work(ctx); err != nil {
		return err
	}
	return f.watch(ctx, cfg.Rounds, r)
}

// work makes agents at work and what they have left of it so far.
func (f *fleet) work(ctx context.Context) error {
	var tasks, boxes []string
	for range f.alive {
		tasks, boxes = append(tasks, task.NewID()), append(boxes, task.NewSandboxID())
	}
	// At once: a round of the reaper in between would write tasks off whose run nobody knows.
	return pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error { return f.workIn(ctx, tx, tasks, boxes) })
}

func (f *fleet) workIn(ctx context.Context, tx pgx.Tx, tasks, boxes []string) error {
	if err := f.write(ctx, tx, tasks, boxes); err != nil {
		return err
	}
	for _, then := range []string{
		`UPDATE tasks t SET sandbox_id = s.id, status = 'running', run_id = '', updated_at = now() FROM sandboxes s WHERE s.task_id = t.id`,
		`UPDATE attempts SET ended_at = NULL`,
		`UPDATE sandboxes SET ended_at = NULL, state = 'running'`,
		`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data, created_at)
			SELECT s.id, n, s.partition_month, CASE WHEN n % 2 = 1 THEN 'agent.tool_use' ELSE 'agent.tool_result' END,
				CASE WHEN n % 2 = 1 THEN jsonb_build_object('tool', 'Bash', 'tool_use_id', 'c' || n,
						'input', jsonb_build_object('command', 'go test ./part' || CASE WHEN k % 10 = 0 THEN 1 ELSE n END))
					ELSE jsonb_build_object('tool', 'Bash', 'tool_use_id', 'c' || n - 1,
						'result', repeat('ok  	example.com/app ', 20) || CASE WHEN k % 10 = 0 THEN 1 ELSE n END) END,
				now() - (` + strconv.Itoa(trajectory) + ` - n) * interval '5 seconds'
			FROM (SELECT id, partition_month, row_number() OVER () AS k FROM sandboxes) s, generate_series(1, ` + strconv.Itoa(trajectory) + `) n`,
		`UPDATE sandboxes SET last_sequence = ` + strconv.Itoa(trajectory),
		`ANALYZE tasks, sandboxes, sandbox_events`,
	} {
		if _, err := tx.Exec(ctx, then); err != nil {
			return fmt.Errorf("write what agents did: %w", err)
		}
	}
	return nil
}

// watch runs cycles, and sees that each judged everybody.
func (f *fleet) watch(ctx context.Context, rounds int, r *Report) error {
	c, err := runCycles(ctx, f, contract.GuardianWorkflow, rounds, func(got contract.CycleReport) error {
		if want := (contract.CycleReport{ID: got.ID, Agents: f.alive, CycleProgress: contract.CycleProgress{Analyzed: f.alive}}); got != want {
			return fmt.Errorf("the guardian reports %+v, not %+v", got, want)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.add(c.row(fmt.Sprintf("guardian cycle over %d active agents, without a model", f.alive),
		goalGuardian))
	r.note("Guardian", "The real workflow, worker, store and Temporal. Each agent has %d events, which "+
		"each cycle reads once; every tenth agent repeats itself. %s",
		trajectory, c.text())
	return nil
}
