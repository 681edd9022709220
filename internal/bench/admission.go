package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	goalAdmission = 5   // milliseconds
	decisions     = 200 // of each kind
	queues        = 10  // projects that share the waiting tasks
	slotsEach     = 5   // of one of them
)

// measureAdmission times the gate: a task has ended, and among many that wait one is chosen, let in and those behind it
// are told their places. Beside it stands the look at all that wait, which is taken once a minute.
func measureAdmission(ctx context.Context, cfg Config, r *Report) (err error) {
	s, err := startServer(ctx, cfg, map[string]string{"OMOI_REAPER_INTERVAL": "1h"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.queue(ctx, cfg.Waiting); err != nil {
		return err
	}
	quick, err := s.decide(ctx, decisions, `SELECT omoi_admit((SELECT organization_id FROM projects LIMIT 1), $1)`)
	if err != nil {
		return err
	}
	whole, err := s.decide(ctx, decisions/queues, `SELECT omoi_admit_all(organization_id) FROM projects WHERE id = $1`)
	if err != nil {
		return err
	}
	took := median(quick)
	r.add(Row{
		What: fmt.Sprintf("admission of one task, with %d tasks queued, median", cfg.Waiting), Goal: "under 5 ms",
		Measured: fmt.Sprintf("%.1f ms", took), Value: took, Verdict: atMost(took, goalAdmission),
	})
	r.note("Admission", "%d tasks are queued in %d projects that use all their slots. One slot is released; the time is that of the admission query alone, in a transaction that is rolled back. One admission took %.1f ms (median) and %.1f ms (longest of %d). The admission of all queued tasks, which the reaper and a change of limits run, took %s (median).",
		cfg.Waiting, queues, took, quick[len(quick)-1], len(quick), ms(median(whole)))
	return nil
}

// queue writes tasks that wait for slots which others hold. None of them has a workflow, and no relay sees them. They
// are queued once the slots are taken, so that the server assigns none.
func (s *server) queue(ctx context.Context, waiting int) error {
	for range queues {
		project, err := s.api.CreateProject(ctx, apiclient.CreateProjectRequest{
			Name: "bench " + task.NewID(), MaxSlots: new(slotsEach),
		})
		if err != nil {
			return fmt.Errorf("make a project: %w", err)
		}
		_, err = s.pool.Exec(ctx, `WITH k AS (
				INSERT INTO tickets (id, project_id, title) VALUES (gen_random_uuid(), $1, 'bench') RETURNING id, project_id)
			INSERT INTO tasks (id, organization_id, project_id, ticket_id, title, description, agent, provider, queued_at)
			SELECT gen_random_uuid(), p.organization_id, p.id, k.id, 'bench', repeat('a long description ', 100), 'scripted', 'external', NULL
			FROM k JOIN projects p ON p.id = k.project_id, generate_series(1, $2::integer)`, project.ID, waiting/queues)
		if err != nil {
			return fmt.Errorf("write tasks that wait: %w", err)
		}
	}
	for _, then := range []string{
		`INSERT INTO slots (task_id, organization_id, project_id) SELECT id, organization_id, project_id FROM (
			SELECT *, row_number() OVER (PARTITION BY project_id) AS n FROM tasks) AS t WHERE n <= ` + strconv.Itoa(slotsEach),
		`UPDATE tasks SET queued_at = now() WHERE id NOT IN (SELECT task_id FROM slots)`,
		`SELECT omoi_admit_all(organization_id) FROM projects LIMIT 1`,
		`ANALYZE tasks, slots, projects`,
	} {
		if _, err := s.pool.Exec(ctx, then); err != nil {
			return fmt.Errorf("fill the queue: %w", err)
		}
	}
	return nil
}

// decide gives back a slot, times admission, and undoes both.
func (s *server) decide(ctx context.Context, times int, gate string) ([]float64, error) {
	var all []float64
	for range times {
		tx, err := s.pool.Begin(ctx)
		if err != nil {
			return nil, fmt.Errorf("begin a decision: %w", err)
		}
		project, left, held := "", 0, 0
		err = tx.QueryRow(ctx, `DELETE FROM slots WHERE task_id = (SELECT task_id FROM slots ORDER BY random() LIMIT 1) RETURNING project_id, (SELECT count(*) FROM slots) - 1`).Scan(&project, &left)
		begun := time.Now()
		if err == nil {
			_, err = tx.Exec(ctx, gate, project)
		}
		all = append(all, milliseconds(time.Since(begun)))
		if err == nil {
			err = tx.QueryRow(ctx, `SELECT count(*) FROM slots`).Scan(&held)
		}
		if err == nil && held != left+1 {
			err = fmt.Errorf("admission admitted %d tasks instead of one", held-left)
		}
		if err = errors.Join(err, tx.Rollback(ctx)); err != nil {
			return nil, fmt.Errorf("decide: %w", err)
		}
	}
	slices.Sort(all)
	return all, nil
}
