package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// Goals of the way in and out of a sandbox, in milliseconds.
const (
	goalStart = 500
	goalGone  = 1000
)

const taskLimit = 2 * time.Minute

// measureStarts runs tasks one after the other in local sandboxes and looks how long it
// takes to the agent's first word, and from its last to a sandbox that is seen to be gone.
func measureStarts(ctx context.Context, cfg Config, r *Report) (err error) {
	s, err := startServer(ctx, cfg, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	repo, err := repository(ctx, cfg.Dir)
	if err != nil {
		return err
	}
	var start, gone []float64
	in, out := &stepTimes{}, &stepTimes{}
	for n := range cfg.Starts + 1 {
		life, err := s.live(ctx, repo)
		if err != nil {
			return err
		}
		if n == 0 {
			continue // the first one warms everything up
		}
		start = append(start, milliseconds(life.started.Sub(life.asked)))
		gone = append(gone, milliseconds(life.gone.Sub(life.completed)))
		life.in(in)
		life.out(out)
	}
	r.add(
		Row{
			What: "submit to `agent.started`, local sandbox, median", Goal: "under 500 ms", Measured: ms(median(start)),
			Value: median(start), Verdict: atMost(median(start), goalStart),
		},
		Row{
			What: "`agent.completed` to deleted sandbox, median", Goal: "under 1,000 ms",
			Measured: ms(median(gone)), Value: median(gone), Verdict: atMost(median(gone), goalGone),
		},
	)
	r.note("From submit to agent.started",
		"Medians over %d sequential tasks, each in a new local sandbox with a checkout of a repository; from "+
			"the request to the time at which the event is stored. All: %s.\n\n%s",
		len(start), spread(start), in.table())
	r.note("From agent.completed to deleted",
		"The same tasks, from the time at which the event is stored to `gone_at` of the sandbox. All: %s.\n\n%s",
		spread(gone), out.table())
	return nil
}

func spread(values []float64) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, fmt.Sprintf("%.0f", v))
	}
	return strings.Join(texts, ", ") + " ms"
}

// life is what is known of one task and its sandbox.
type life struct {
	asked, answered time.Time // of the request
	started         time.Time // agent.started is stored
	completed       time.Time // agent.completed is stored
	gone            time.Time
	task, cleanup   past
}

// live runs one task to its end.
func (s *server) live(ctx context.Context, repo string) (life, error) {
	l := life{asked: time.Now()}
	made, _, err := s.api.CreateTask(ctx, apiclient.CreateTaskRequest{
		Repo: repo, Description: "a task of the benchmark", Agent: task.AgentScripted, Provider: task.ProviderLocal,
		Execution: json.RawMessage(`{"script":{"steps":[{"write":{"path":"a.txt","content":"a\n"}},{"commit":"Add a"}]}}`),
	}, "")
	if err != nil {
		return l, fmt.Errorf("give a task: %w", err)
	}
	l.answered = time.Now()
	var state, box string
	err = s.until(ctx, taskLimit, "task "+made.ID+" is over and its sandbox gone", func() bool {
		err := s.pool.QueryRow(ctx, `SELECT t.status, s.id FROM tasks t JOIN sandboxes s ON s.task_id = t.id AND s.attempt = 1
			WHERE t.id = $1 AND t.completed_at IS NOT NULL AND s.verified_at IS NOT NULL`, made.ID).Scan(&state, &box)
		return err == nil
	})
	if err != nil {
		return l, err
	}
	if state != string(task.StatusCompleted) {
		return l, fmt.Errorf("task %s is %s%s", made.ID, state, s.lastWords())
	}
	return l, s.times(ctx, made.ID, box, &l)
}

func (s *server) times(ctx context.Context, taskID, box string, l *life) error {
	err := s.pool.QueryRow(ctx, `SELECT max(created_at) FILTER (WHERE event_type = 'agent.started'),
		max(created_at) FILTER (WHERE event_type = 'agent.completed'), (SELECT gone_at FROM sandboxes WHERE id = $1)
		FROM sandbox_events WHERE sandbox_id = $1`, box).Scan(&l.started, &l.completed, &l.gone)
	if err != nil {
		return fmt.Errorf("read the times of sandbox %s: %w", box, err)
	}
	if l.task, err = readPast(ctx, s.temporal, contract.TaskWorkflowID(taskID), ""); err != nil {
		return err
	}
	l.cleanup, err = readPast(ctx, s.temporal, contract.CleanupWorkflowID(box), "")
	return err
}

// in is the way from the request to the agent's first word.
func (l life) in(t *stepTimes) {
	t.begin()
	t.add("the API accepts the task", l.answered.Sub(l.asked))
	t.add("relay, to the start of the workflow", l.task.begun.Sub(l.answered))
	last := l.task.begun
	for _, s := range l.task.steps {
		last = t.step(last, s)
		if s.name == contract.StartAgent {
			break
		}
	}
	t.add("agent starts and its first event is stored", l.started.Sub(last))
}

// out is the way from the agent's last word to a sandbox that is gone.
func (l life) out(t *stepTimes) {
	t.begin()
	last := l.completed
	for _, at := range l.task.signalled {
		if at.After(last) {
			t.add("relay, to the signal", at.Sub(last))
			last = at
			break
		}
	}
	for _, s := range l.task.steps {
		if s.scheduled.After(last) {
			last = t.step(last, s)
		}
	}
	t.add("start of the cleanup's workflow", l.cleanup.begun.Sub(last))
	last = l.cleanup.begun
	for _, s := range l.cleanup.steps {
		if s.scheduled.After(l.gone) {
			break
		}
		if s.name == contract.RecordSandboxState && s.ended.After(l.gone) && s.started.Before(l.gone) {
			t.add("`gone` is written", l.gone.Sub(last))
			break
		}
		last = t.step(last, s)
	}
}
