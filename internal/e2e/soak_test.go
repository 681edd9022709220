package e2e_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// soak is a task at every tick, for long, at one omoi dev whose retention believes that a year has passed.
type soak struct {
	*laptop

	tasks     int
	every     time.Duration
	url       string
	at        string // the repository
	began     time.Time
	took      time.Duration
	samples   []sample
	growth    map[string]int // of each table, in bytes
	completed int
	retried   int
}

// TestSoak submits a task at every tick. Each completes, and at full size everything that a long run could exhaust levels off.
func TestSoak(t *testing.T) {
	t.Parallel()
	full := os.Getenv("OMOI_SOAK") != ""
	s := &soak{laptop: newLaptop(t), tasks: number(t, "OMOI_SOAK", 15), every: time.Second}
	if full {
		s.every = 4 * time.Second
	}
	s.plain()
	s.env["OMOI_TEST_RETENTION_CLOCK_AHEAD"], s.env["OMOI_RETENTION_INTERVAL"] = "9000h", "30s"
	s.url = s.dev().APIURL
	s.run()
	t.Log("\n" + s.String())
	if out := os.Getenv("OMOI_SOAK_OUT"); out != "" {
		require.NoError(t, os.WriteFile(out, []byte(s.String()), 0o644))
	}
	require.Equal(t, s.tasks, s.completed, "completed")
	if full {
		require.Empty(t, s.rising(), "these do not level off")
	}
}

// batch is the number of tasks between two samples.
const batch = 10

// run submits the tasks in batches and takes a sample after each, when no task is in flight: how many are at a moment depends
// on the speed of the machine.
func (s *soak) run() {
	s.t.Helper()
	s.at = s.keepingRepo()
	before := s.sizes()
	s.began = time.Now()
	for left := s.tasks; left > 0; left -= batch {
		s.submitEach(min(batch, left))
		s.rest()
		s.samples = append(s.samples, s.look())
	}
	s.took = time.Since(s.began)
	s.completed = s.count(`SELECT count(*) FROM tasks WHERE status = 'completed'`)
	s.retried = s.count(`SELECT count(*) FROM tasks WHERE attempt_count > 1`)
	s.growth = s.sizes()
	for table, bytes := range before {
		s.growth[table] -= bytes
	}
}

// submitEach submits n tasks, one at every tick.
func (s *soak) submitEach(n int) {
	s.t.Helper()
	next := time.NewTicker(s.every)
	defer next.Stop()
	for range n {
		<-next.C
		s.submit(s.at, script(stepBig, stepWrite, stepCommit, stepUnsaved, stepComplete))
	}
}

// rest waits until every task has ended and every sandbox is gone, as long as a busy machine takes.
func (s *soak) rest() {
	s.t.Helper()
	const open = `SELECT (SELECT count(*) FROM tasks WHERE status NOT IN ('completed', 'failed', 'cancelled')) +
		(SELECT count(*) FROM sandboxes WHERE verified_at IS NULL OR state <> 'gone')`
	require.True(s.t, waitFor(time.Hour, func() bool { return s.count(open) == 0 }), "every task ends, and every sandbox is gone")
	s.noLeaks()
}

// stepBig prints more than an event row holds: a large field.
const stepBig = `{"bash":{"command":"head -c 40000 /dev/urandom | base64"}}`
