package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// goalTasks is the share of a bare workflow's rate that tasks must reach.
const goalTasks = 0.6

// measureTasks compares whole tasks, whose sandbox, agent and git do nothing, with bare
// workflows that have as many activities and signals, on the same server.
func measureTasks(ctx context.Context, cfg Config, r *Report) (err error) {
	s, err := startServer(ctx, cfg, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	m, err := newTaskMaker(ctx, s)
	if err != nil {
		return err
	}
	shape, err := m.shape(ctx)
	if err != nil {
		return err
	}
	bare, err := startBare(s.temporal, shape)
	if err != nil {
		return err
	}
	defer bare.stop()
	var ours, theirs, shares []float64
	for n := range cfg.Rounds + 1 {
		tasks := cfg.Tasks
		if n == 0 {
			tasks = min(cfg.Parallel, tasks) // warms up
		}
		a, err := rate(ctx, tasks, cfg.Parallel, m.one)
		if err != nil {
			return err
		}
		b, err := rate(ctx, tasks, cfg.Parallel, bare.one)
		if err != nil {
			return err
		}
		if n > 0 {
			ours, theirs, shares = append(ours, a), append(theirs, b), append(shares, a/b)
		}
	}
	share := median(shares)
	r.add(
		Row{What: "task workflows, relative to bare workflows with as many activities and signals", Goal: "at least 60 %", Measured: fmt.Sprintf("%.0f %%", 100*share), Value: 100 * share, Verdict: atLeast(share, goalTasks)}, //nolint:mnd // percent
		Row{What: "task workflows", Measured: fmt.Sprintf("%.1f/s", median(ours)), Value: median(ours)},
		Row{What: "bare workflows", Measured: fmt.Sprintf("%.1f/s", median(theirs)), Value: median(theirs)},
	)
	r.note("Tasks per second", "%d tasks per round, %d in parallel, medians of %d rounds that alternate with as many bare workflows. A task runs completely from its request to the end of its workflow: API, store, relay, admission, stored state. Its sandbox and agent are `external` and it has no repository, so that neither of them nor git does any work. Its events are posted as one batch once its sandbox is known. "+
		"A bare workflow runs %d empty activities in sequence and receives %d signals, the numbers in the histories of one task and its cleanup. The cost of the child workflow and of PostgreSQL counts for omoi. Rates of tasks: %s; of bare workflows: %s.",
		cfg.Tasks, cfg.Parallel, cfg.Rounds, shape.activities, shape.signals, rates(ours), rates(theirs))
	return nil
}

func rates(values []float64) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, fmt.Sprintf("%.1f", v))
	}
	return strings.Join(texts, ", ") + "/s"
}

// rate carries n pieces out, at most parallel at a time, and answers how many a second.
func rate(ctx context.Context, n, parallel int, one func(context.Context) error) (float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan struct{}, n)
	for range n {
		work <- struct{}{}
	}
	close(work)
	begun := time.Now()
	var all sync.WaitGroup
	for range parallel {
		all.Go(func() {
			for range work {
				if err := one(ctx); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	all.Wait()
	return float64(n) / time.Since(begun).Seconds(), context.Cause(ctx)
}

// taskMaker makes tasks whose sandbox and agent are outside.
type taskMaker struct {
	*server

	project string
	boxes   *boxes
}

func newTaskMaker(ctx context.Context, s *server) (*taskMaker, error) {
	slots := 1000
	p, err := s.api.CreateProject(ctx, apiclient.CreateProjectRequest{Name: "bench " + task.NewID(), MaxSlots: &slots})
	if err != nil {
		return nil, fmt.Errorf("make a project: %w", err)
	}
	return &taskMaker{server: s, project: p.ID, boxes: watchBoxes(ctx, s.pool)}, nil
}

// boxes learns of new sandboxes, with one question for all who wait.
type boxes struct {
	mu    sync.Mutex
	found map[string]chan string // by task
}

// watchBoxes asks until ctx ends.
func watchBoxes(ctx context.Context, pool *pgxpool.Pool) *boxes {
	b := &boxes{found: map[string]chan string{}}
	go func() {
		ticker := time.NewTicker(2 * tick)
		defer ticker.Stop()
		var last string
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				last = b.look(ctx, pool, last)
			}
		}
	}()
	return b
}

// look tells of the sandboxes of the last few attempts since the last look.
func (b *boxes) look(ctx context.Context, pool *pgxpool.Pool, since string) string {
	rows, err := pool.Query(ctx, `SELECT task_id::text, id, created_at::text FROM sandboxes
		WHERE created_at >= coalesce(nullif($1, '')::timestamptz, '-infinity') - interval '1 second' AND task_id IS NOT NULL`, since)
	if err != nil {
		return since
	}
	defer rows.Close()
	for rows.Next() {
		var taskID, box, made string
		if rows.Scan(&taskID, &box, &made) == nil {
			b.tell(taskID, box)
			since = max(since, made)
		}
	}
	return since
}

func (b *boxes) of(taskID string) chan string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.found[taskID] == nil {
		b.found[taskID] = make(chan string, 1)
	}
	return b.found[taskID]
}

func (b *boxes) tell(taskID, box string) {
	select {
	case b.of(taskID) <- box:
	default: // told already
	}
}

// wait answers the sandbox of a task.
func (b *boxes) wait(ctx context.Context, taskID string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, taskLimit)
	defer cancel()
	select {
	case <-ctx.Done():
		return "", fmt.Errorf("wait for the sandbox of task %s: %w", taskID, ctx.Err())
	case box := <-b.of(taskID):
		return box, nil
	}
}

// give makes a task and answers its id and that of its sandbox.
func (m *taskMaker) give(ctx context.Context) (taskID, box string, err error) {
	made, _, err := m.api.CreateTask(ctx, apiclient.CreateTaskRequest{
		ProjectID: m.project, Description: "a task of the benchmark", Agent: task.AgentExternal,
		Provider:  task.ProviderExternal,
		Execution: json.RawMessage(`{"continuous":false}`),
	}, "")
	if err != nil {
		return "", "", fmt.Errorf("give a task: %w", err)
	}
	box, err = m.boxes.wait(ctx, made.ID)
	return made.ID, box, err
}

// one carries one task out.
func (m *taskMaker) one(ctx context.Context) error {
	_, err := m.carryOut(ctx)
	return err
}

func (m *taskMaker) carryOut(ctx context.Context) (taskID string, err error) {
	taskID, box, err := m.give(ctx)
	if err != nil {
		return taskID, err
	}
	a := m.agent(box)
	err = a.say(ctx, apiclient.CreateEventRequest{Type: event.AgentStarted}, apiclient.CreateEventRequest{
		Type: event.AgentCompleted, Data: json.RawMessage(`{"success":true}`),
	})
	if err != nil {
		return taskID, err
	}
	var out contract.TaskResult
	if err := m.temporal.GetWorkflow(ctx, contract.TaskWorkflowID(taskID), "").Get(ctx, &out); err != nil {
		return taskID, fmt.Errorf("carry out task %s: %w", taskID, err)
	}
	return taskID, nil
}

// shape counts what one task has in its histories.
func (m *taskMaker) shape(ctx context.Context) (past, error) {
	taskID, err := m.carryOut(ctx)
	if err != nil {
		return past{}, err
	}
	var box string
	if err := m.pool.QueryRow(ctx, `SELECT id FROM sandboxes WHERE task_id = $1`, taskID).Scan(&box); err != nil {
		return past{}, fmt.Errorf("find the sandbox of task %s: %w", taskID, err)
	}
	whole, err := readPast(ctx, m.temporal, contract.TaskWorkflowID(taskID), "")
	if err != nil {
		return whole, err
	}
	child, err := readPast(ctx, m.temporal, contract.CleanupWorkflowID(box), "")
	whole.activities += child.activities
	whole.signals += child.signals
	return whole, err
}
