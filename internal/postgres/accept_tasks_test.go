package postgres_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/candidate"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// queries records the queries of a pool.
type queries struct {
	mu  sync.Mutex
	all []string
}

func (q *queries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all = append(q.all, d.SQL)
	return ctx
}

func (q *queries) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// since returns how many queries contain a text, and forgets them.
func (q *queries) since(text string) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range q.all {
		if strings.Contains(one, text) {
			n++
		}
	}
	q.all = nil
	return n
}

// watched returns the world with a store whose queries are recorded.
func (w world) watched() (world, *queries) {
	w.t.Helper()
	seen, cfg := &queries{}, w.pool.Config().Copy()
	cfg.ConnConfig.Tracer = seen
	pool, err := pgxpool.NewWithConfig(w.t.Context(), cfg)
	require.NoError(w.t, err)
	w.t.Cleanup(pool.Close)
	w.pool, w.store = pool, postgres.New(pool, postgres.Config{})
	return w, seen
}

// compare accepts n candidates in a project.
func (w world) compare(project string, n int) (ticketID string) {
	w.t.Helper()
	var all []task.NewTask
	for i := range n {
		config, err := candidate.Mark(json.RawMessage(`{}`), strings.Repeat("m", i))
		require.NoError(w.t, err)
		all = append(all, task.NewTask{
			OrganizationID: w.org, ProjectID: project, Ticket: task.NewTicket{Title: "which", TicketType: "feature"}, Title: "t", Execution: config,
			TaskType: "implementation", PhaseID: "PHASE_IMPLEMENTATION", Priority: "MEDIUM", Mode: "implementation", Agent: "scripted", Provider: "external",
			Budget: task.Budget{USD: 1},
		})
	}
	made, err := w.store.AcceptTasks(w.t.Context(), all)
	require.NoError(w.t, err)
	return made.TicketID
}

// Candidates are admitted in one step, within the limits of their project and organization.
func TestAcceptTasks_AdmitsOnceWithinTheLimits(t *testing.T) {
	t.Parallel()
	w, seen := newWorld(t, postgres.Config{}).watched()
	project := w.project(2)
	seen.since("")
	w.compare(project, 4)
	require.Equal(t, 1, seen.since("omoi_admit("))
	require.Equal(t, 2, count(t, w.pool, `SELECT count(*) FROM slots WHERE project_id = $1`, project))
	require.Equal(t, "1,2", one[string](t, w.pool, `SELECT string_agg(queue_position::text, ',' ORDER BY queue_position) FROM tasks WHERE queue_reason ->> 'code' = 'project_limit'`))
}
