package postgres_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
)

// summed recomputes the usage of a project from its sandboxes.
const summed = `SELECT coalesce(sum(b.cost_usd), 0)::float8 + coalesce(sum(b.input_tokens + b.output_tokens), 0)::float8 +
		coalesce(sum(omoi_lifetime_seconds(b.machine, b.host_bound, b.created_at, b.made_at, b.started_at, omoi_lifetime_end(b.state, b.ended_at, b.gone_at))), 0)::float8
	FROM tasks t JOIN sandboxes b ON b.task_id = t.id WHERE t.project_id = $1`

// The stored usage equals the sum over the sandboxes in any order of changes.
func TestUsage_TotalEqualsSum(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p, other := w.project(5), w.project(5)
	w.exec(`UPDATE projects SET budget = '{"usd": 1e6}' WHERE id = $1`, p)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	steps := []string{
		`UPDATE sandboxes SET cost_usd = cost_usd + 1.5, input_tokens = input_tokens + 7 WHERE id = $1`,
		`UPDATE sandboxes SET cost_usd = cost_usd / 2 WHERE id = $1`, // a bill replaces the estimate
		`UPDATE sandboxes SET started_at = now() - interval '1 hour' WHERE id = $1`,
		`UPDATE sandboxes SET ended_at = now() - interval '20 minutes' WHERE id = $1`,
		`UPDATE sandboxes SET state = 'gone', gone_at = now() - interval '10 minutes' WHERE id = $1`,
		`UPDATE sandboxes SET state = 'running', gone_at = NULL WHERE id = $1`, // the sandbox reappears
		`UPDATE sandboxes SET state = 'lost' WHERE id = $1`,
		`UPDATE sandboxes SET labels = '{}' WHERE id = $1`,
	}
	boxes := []string{"a", "b", "c", "d"}
	for n, box := range boxes {
		w.boxOf([]string{p, other}[n/3], box)
	}
	w.exec(`INSERT INTO sandboxes (id, provider, machine, state, cost_usd)
		VALUES ('e', 'bare', false, 'running', 3)`) // nobody's yet
	w.exec(`UPDATE sandboxes SET organization_id = $1, provider = 'external', task_id = (SELECT task_id FROM sandboxes WHERE id = 'a') WHERE id = 'e'`, w.org)
	boxes = append(boxes, "e")
	for range 120 {
		w.exec(steps[dice.IntN(len(steps))], boxes[dice.IntN(len(boxes))])
		if dice.IntN(4) == 0 {
			w.exec(`SELECT omoi_settle_usage()`)
		}
		for _, project := range []string{p, other} {
			tx := w.session() // of one snapshot
			var kept, sum float64
			require.NoError(t, tx.QueryRow(t.Context(), `SELECT sum(used) FROM omoi_project_usage($1) WHERE what <> 'wall_clock_s'`, project).Scan(&kept))
			require.NoError(t, tx.QueryRow(t.Context(), summed, project).Scan(&sum))
			require.NoError(t, tx.Rollback(t.Context()))
			require.InDelta(t, sum, kept, 1e-3)
		}
	}
	w.exec(`UPDATE sandboxes SET state = 'gone', gone_at = now()`)
	w.exec(`SELECT omoi_settle_usage()`)
	require.Zero(t, count(t, w.pool, `SELECT count(*) FROM open_usage WHERE project_id = $1`, p))
	require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM open_usage WHERE project_id = $1`, other), "only where a budget binds")
}

// boxOf creates a task with a sandbox in a project.
func (w world) boxOf(project, box string) {
	w.t.Helper()
	a := w.task(project, "")
	w.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, machine)
		VALUES ($1, $2, $3, 1, 'external', false)`, box, w.org, a.id)
}

// BenchmarkAdmissionUnderABudget ends a task and admits another in a project with ten thousand ended tasks.
func BenchmarkAdmissionUnderABudget(b *testing.B) {
	w := newWorld(b, postgres.Config{})
	p := w.project(5)
	w.many(p, 10_000, "")
	w.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, machine, state, cost_usd, started_at, ended_at, gone_at)
		SELECT t.id::text, t.organization_id, t.id, 1, 'external', false, 'gone', 0.01, now() - interval '1 hour', now(), now() FROM tasks t`)
	w.exec(`UPDATE tasks SET status = 'completed', queued_at = NULL`)
	w.many(p, 10_000, "")
	w.exec(`UPDATE projects SET budget = '{"usd": 1e6}' WHERE id = $1`, p)
	w.exec(`ANALYZE`)
	w.enforce()
	w.gate()
	for b.Loop() {
		w.endOne()
	}
	began := time.Now()
	w.enforce()
	b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "ms/look")
}
