package guardian_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// world is a database with one project and active agents.
type world struct {
	t       *testing.T
	pool    *pgxpool.Pool
	store   *postgres.Store
	org     string
	project string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	pool := pgtest.New(t)
	w := &world{t: t, pool: pool, store: postgres.New(pool, postgres.Config{}), org: task.NewID(), project: task.NewID()}
	w.exec(`INSERT INTO organizations (id, name) VALUES ($1, 'org')`, w.org)
	w.exec(`INSERT INTO projects (id, organization_id, name) VALUES ($1, $2, 'p')`, w.project, w.org)
	return w
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	_, err := w.pool.Exec(w.t.Context(), sql, args...)
	require.NoError(w.t, err)
}

func (w *world) count(sql string, args ...any) int {
	w.t.Helper()
	var n int
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), sql, args...).Scan(&n))
	return n
}

// atWork creates n tasks with active agents and returns their sandboxes.
func (w *world) atWork(n int) []string {
	w.t.Helper()
	var boxes []string
	for range n {
		id, ticket, box := task.NewID(), task.NewID(), task.NewSandboxID()
		w.exec(`INSERT INTO tickets (id, project_id, title) VALUES ($1, $2, 't')`, ticket, w.project)
		w.exec(`INSERT INTO tasks (id, organization_id, project_id, ticket_id, title, description, agent, provider, status, attempt_count)
			VALUES ($1, $2, $3, $4, 'Mend the build', 'Mend the build.', 'scripted', 'external', 'running', 1)`, id, w.org, w.project, ticket)
		w.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, machine, state)
			VALUES ($1, $2, $3, 1, 'external', false, 'running')`, box, w.org, id)
		w.exec(`INSERT INTO attempts (task_id, number, sandbox_id, run_id, ordinal, started_at, assigned_at)
			VALUES ($1, 1, $2, 'r', 1, now() - interval '20 minutes', now() - interval '20 minutes')`, id, box)
		w.exec(`UPDATE tasks SET sandbox_id = $2 WHERE id = $1`, id, box)
		boxes = append(boxes, box)
	}
	slices.Sort(boxes)
	return boxes
}

// loops stores events of agents that repeat the same tool call.
func (w *world) loops(boxes ...string) {
	w.t.Helper()
	for _, box := range boxes {
		w.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data, created_at)
			SELECT s.id, n, s.partition_month, CASE WHEN n % 2 = 1 THEN 'agent.tool_use' ELSE 'agent.tool_result' END,
				CASE WHEN n % 2 = 1 THEN jsonb_build_object('tool', 'Bash', 'tool_use_id', 'c' || n, 'input', '{"command": "make build"}'::jsonb)
					ELSE jsonb_build_object('tool', 'Bash', 'tool_use_id', 'c' || n - 1, 'result', 'no rule to make target') END,
				now() - (40 - n) * interval '2 seconds'
			FROM sandboxes s, generate_series(1, 30) n WHERE s.id = $1`, box)
		w.exec(`UPDATE sandboxes SET last_sequence = 30 WHERE id = $1`, box)
	}
}

// steers enables steering in the project.
func (w *world) steers() { w.exec(`UPDATE projects SET auto_steering = true`) }

// always returns the settings of a guardian that repeats each analysis in each cycle.
func always() guardian.Config { return guardian.Config{Fresh: -1} }

func (w *world) guardian(cfg guardian.Config) *guardian.Guardian {
	return guardian.New(cfg, guardian.Deps{Store: w.store})
}

// cycle runs a whole cycle of one range, as the workflow does.
func (w *world) cycle(g *guardian.Guardian, id string) contract.CycleProgress {
	w.t.Helper()
	judged, err := try(w.t.Context(), g, id)
	require.NoError(w.t, err)
	report := contract.CycleReport{ID: id, Agents: judged.Analyzed + judged.Fresh, CycleProgress: judged}
	require.NoError(w.t, g.End(w.t.Context(), report))
	return judged
}

// try runs a cycle, which may fail before its end.
func try(ctx context.Context, g *guardian.Guardian, id string) (contract.CycleProgress, error) {
	ids, _, err := g.Begin(ctx, id)
	if err != nil || len(ids) == 0 {
		return contract.CycleProgress{}, err
	}
	return g.Analyze(ctx, contract.Range{CycleID: id, Upto: ids[len(ids)-1], Count: len(ids)}, contract.CycleProgress{}, func(contract.CycleProgress) {})
}

// pass makes all stored analyses and interventions older by d.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	w.exec(`UPDATE interventions SET planned_at = planned_at - $1::interval`, d)
	w.exec(`UPDATE guardian_analyses SET judged_at = judged_at - $1::interval`, d)
}

// levels returns the interventions of an attempt, oldest first, without those that were only observed.
func (w *world) levels(box string) []string {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(), `SELECT level || ' ' || state FROM interventions WHERE sandbox_id = $1 AND level <> 'observe' ORDER BY planned_at, id`, box)
	require.NoError(w.t, err)
	var out []string
	for rows.Next() {
		var one string
		require.NoError(w.t, rows.Scan(&one))
		out = append(out, one)
	}
	require.NoError(w.t, rows.Err())
	return out
}

func named(n int) string { return fmt.Sprintf("cycle-%d", n) }
