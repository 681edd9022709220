package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"go.temporal.io/sdk/client"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// fleet is an installation in mid-work: tasks with their rows, workflows and sandboxes.
type fleet struct {
	*server

	cloud       *daytonatest.Server
	rows, alive int
}

// settle makes it, in an order in which no round of the reaper that happens to be finds anything.
func (f *fleet) settle(ctx context.Context) error {
	var tasks, boxes []string
	live := map[string]sandbox.Labels{}
	installation := ""
	if err := f.pool.QueryRow(ctx, `SELECT id FROM installation`).Scan(&installation); err != nil {
		return fmt.Errorf("read the installation's id: %w", err)
	}
	for n := range f.alive + strangers {
		l := sandbox.Labels{
			Installation: installation, TaskID: task.NewID(), Attempt: f.rows / f.alive, SandboxID: task.NewSandboxID(),
		}
		live[l.SandboxID] = l
		if n < f.alive {
			tasks, boxes = append(tasks, l.TaskID), append(boxes, l.SandboxID)
		}
	}
	if err := f.open(ctx, tasks); err != nil {
		return err
	}
	if err := f.write(ctx, f.pool, tasks, boxes); err != nil {
		return err
	}
	return f.fill(ctx, live)
}

// database is a pool or a transaction.
type database interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// write writes tasks in work, each with one sandbox that lives and its share of those that are gone.
func (f *fleet) write(ctx context.Context, db database, tasks, boxes []string) error {
	project, err := f.api.CreateProject(ctx, apiclient.CreateProjectRequest{Name: "bench " + task.NewID()})
	if err != nil {
		return fmt.Errorf("make a project: %w", err)
	}
	_, err = db.Exec(ctx, `WITH k AS (
			INSERT INTO tickets (id, project_id, title) VALUES (gen_random_uuid(), $1, 'bench') RETURNING id, project_id)
		INSERT INTO tasks (id, organization_id, project_id, ticket_id, title, description, agent, provider, status, first_run_id, run_id, attempt_count, updated_at)
		SELECT unnest($2::uuid[]), p.organization_id, p.id, k.id, 'bench', 'bench', 'scripted', 'daytona', 'running', 'r', 'r', $3, now() - interval '1 hour'
		FROM k JOIN projects p ON p.id = k.project_id`, project.ID, tasks, f.rows/f.alive)
	if err != nil {
		return fmt.Errorf("write tasks: %w", err)
	}
	return f.writeLedger(ctx, db, tasks, boxes)
}

// writeLedger writes the rows of those tasks' attempts, of which the last one of each is under way.
func (f *fleet) writeLedger(ctx context.Context, db database, tasks, boxes []string) error {
	_, err := db.Exec(ctx, `INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, host_bound, machine, state, created_at)
		SELECT CASE WHEN n = $3 THEN l.box ELSE gen_random_uuid()::text END, t.organization_id, t.id, n, t.provider, false, true,
			CASE WHEN n = $3 THEN 'running' ELSE 'gone' END, now() - interval '1 hour'
		FROM unnest($1::uuid[], $2::text[]) AS l(task, box) JOIN tasks t ON t.id = l.task, generate_series(1, $3::integer) AS n`,
		tasks, boxes, f.rows/f.alive)
	for _, then := range []string{
		`UPDATE sandboxes SET ended_at = created_at, deleted_at = created_at, gone_at = created_at, verified_at = created_at WHERE state = 'gone'`,
		`INSERT INTO attempts (task_id, number, sandbox_id, run_id, ordinal, ended_at) SELECT task_id, attempt, id, 'r', attempt, ended_at FROM sandboxes`,
		`ANALYZE tasks, sandboxes, attempts`,
	} {
		if err == nil {
			_, err = db.Exec(ctx, then)
		}
	}
	if err != nil {
		return fmt.Errorf("write a ledger: %w", err)
	}
	return nil
}

// open starts the tasks' workflows on a queue that nobody asks: they stay as they are.
func (f *fleet) open(ctx context.Context, tasks []string) error {
	return each(ctx, tasks, func(ctx context.Context, id string) error {
		_, err := f.temporal.ExecuteWorkflow(ctx,
			client.StartWorkflowOptions{ID: contract.TaskWorkflowID(id), TaskQueue: "bench-nobody"}, contract.TaskWorkflow)
		if err != nil {
			return fmt.Errorf("start the workflow of a task: %w", err)
		}
		return nil
	})
}

// fill makes the sandboxes at the provider.
func (f *fleet) fill(ctx context.Context, live map[string]sandbox.Labels) error {
	return each(ctx, slices.Collect(maps.Keys(live)), func(ctx context.Context, id string) error {
		text, err := json.Marshal(map[string]any{"name": task.SandboxName(id), "labels": marks(live[id])})
		if err != nil {
			return fmt.Errorf("encode a sandbox: %w", err)
		}
		return f.order(ctx, text)
	})
}

func (f *fleet) order(ctx context.Context, text []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.cloud.URL()+"/sandbox", bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("order a sandbox: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+f.cloud.Key())
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("order a sandbox: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		return fmt.Errorf("order a sandbox: %s: %s", resp.Status, said)
	}
	return nil
}

// each does one thing to all, some at a time.
func each(ctx context.Context, all []string, do func(ctx context.Context, one string) error) error {
	const parallel = 8
	left := make(chan string, len(all))
	for _, one := range all {
		left <- one
	}
	_, err := rate(ctx, len(all), parallel, func(ctx context.Context) error { return do(ctx, <-left) })
	return err
}

// marks are labels as the provider writes them.
func marks(l sandbox.Labels) map[string]string {
	return map[string]string{
		"omoi-installation": l.Installation, "omoi-task": l.TaskID, "omoi-attempt": strconv.Itoa(l.Attempt),
		"omoi-sandbox": l.SandboxID,
	}
}
