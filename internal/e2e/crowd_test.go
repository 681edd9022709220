package e2e_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/metrics"
	"github.com/omoi-dev/omoi/internal/task"
)

// crowd is many small tasks at once beside processes that keep the machine busy.
type crowd struct {
	*laptop

	tasks      int
	full       bool
	began      time.Time
	took       time.Duration
	load       float64 // highest load average of a minute
	atOnce     int     // most tasks that held a slot at the same time
	completed  int
	attempts   map[int]int // tasks by their number of attempts
	unfinished []string
	cut        float64      // activities that Temporal cancelled
	busy       atomic.Int64 // submissions that were answered with "try again"
}

// TestCrowd submits tasks at once: each completes without a command of a user.
func TestCrowd(t *testing.T) {
	t.Parallel()
	c := &crowd{tasks: number(t, "OMOI_CROWD", 10), full: os.Getenv("OMOI_CROWD") != "", attempts: map[int]int{}}
	c.laptop = newLaptop(t)
	c.plain()
	info := c.dev()
	busy := newLoad(c.full)
	t.Cleanup(busy.end)
	stop := busy.begin(t)
	c.run()
	c.cut = c.scrape(info.APIURL).sum(metrics.ActivitiesCut)
	stop()
	t.Log("\n" + c.String())
	require.Equal(t, c.tasks, c.completed, "%s", c.unfinished)
	c.noLeaks()
	c.gapless()
	if out := os.Getenv("OMOI_CROWD_OUT"); out != "" {
		require.NoError(t, os.WriteFile(out, []byte(c.String()), 0o644))
	}
}

// number reads a count from the environment.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	given := os.Getenv(name)
	if given == "" {
		return otherwise
	}
	n, err := strconv.Atoi(given)
	require.NoError(t, err, name)
	return n
}

// plain takes the short durations of tests back: users have the defaults.
func (l *laptop) plain() {
	for _, name := range []string{"OMOI_TEST_AGENT_HEARTBEAT_INTERVAL", "OMOI_RELAY_DIGEST_INTERVAL", "OMOI_TEST_RELAY_POLL_INTERVAL"} {
		delete(l.env, name)
	}
}

// run submits all tasks side by side and waits until each has ended.
func (c *crowd) run() {
	c.t.Helper()
	repo := c.repo()
	c.began = time.Now()
	var all sync.WaitGroup
	for range c.tasks {
		all.Go(func() { c.insist(repo) })
	}
	all.Wait()
	const open = `SELECT count(*) FROM tasks WHERE status NOT IN ('completed', 'failed', 'cancelled')`
	for c.count(open) > 0 { // as long as a busy machine takes; go test has a limit
		c.load = max(c.load, loadAverage())
		c.atOnce = max(c.atOnce, c.count(`SELECT count(*) FROM slots`))
		<-time.After(time.Second)
	}
	c.took = time.Since(c.began)
	c.judge()
}

// insist submits a task as often as the API says that it is too busy; the key makes it one task.
func (c *crowd) insist(repo string) {
	in := apiclient.CreateTaskRequest{
		Repo: repo, Description: "a task of the crowd", Agent: task.AgentScripted, Provider: task.ProviderLocal,
		Execution: script(stepWrite, stepCommit, stepComplete),
	}
	key := rand.Text()
	if !waitFor(time.Hour, func() bool {
		_, _, err := c.api.CreateTask(context.Background(), in, key)
		if task.CodeOf(err) == task.CodeUnavailable {
			c.busy.Add(1)
			return false
		}
		return err == nil
	}) {
		c.t.Error("a task is not accepted")
	}
}

// judge counts how the tasks ended.
func (c *crowd) judge() {
	c.t.Helper()
	rows, err := c.pool.Query(context.Background(), `SELECT id::text, status, attempt_count, coalesce(error_message, '') FROM tasks`)
	require.NoError(c.t, err)
	defer rows.Close()
	for rows.Next() {
		var id, status, reason string
		var attempts int
		require.NoError(c.t, rows.Scan(&id, &status, &attempts, &reason))
		c.attempts[attempts]++
		if status == string(task.StatusCompleted) {
			c.completed++
			continue
		}
		c.unfinished = append(c.unfinished, strings.Join([]string{id, status, reason}, " "))
	}
	require.NoError(c.t, rows.Err())
}

// String is docs/CROWD.md.
func (c *crowd) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Many tasks at once on a busy machine

Written by `+"`make crowd`"+`; do not edit. All tasks are submitted at once to one `+"`omoi dev`"+` with local sandboxes and the scripted agent,
beside processes that keep the machine busy. Each writes a file, commits it and completes. All settings have
their defaults, so that most tasks wait for a slot. No command of a user reaches a task. A submission that is answered 503 is sent again.

- made: %s, in %s, at %s
- machine: %s

| measured | value |
|---|---:|
| tasks | %d |
| completed | %d |
| most slots held at the same time | %d |
| highest load average of one minute | %.1f |
| submissions answered 503 and sent again | %d |
| activities that were cut off (`+"`%s`"+`) | %.0f |
`, c.began.UTC().Format("2006-01-02"), c.took.Round(time.Second), version(), machine(), c.tasks, c.completed, c.atOnce, c.load, c.busy.Load(), metrics.ActivitiesCut, c.cut)
	for n := range 10 {
		if c.attempts[n] > 0 {
			fmt.Fprintf(&b, "| tasks with attempt count %d | %d |\n", n, c.attempts[n])
		}
	}
	for _, one := range c.unfinished {
		fmt.Fprintf(&b, "\nNot completed: %s\n", one)
	}
	return b.String()
}
