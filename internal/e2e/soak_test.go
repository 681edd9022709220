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
	sampling  time.Duration
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
	s := &soak{laptop: newLaptop(t), tasks: number(t, "OMOI_SOAK", 15), every: time.Second, sampling: time.Second}
	if full {
		s.every, s.sampling = 4*time.Second, 30*time.Second
	}
	s.plain()
	s.env["OMOI_RETENTION_CLOCK_AHEAD"], s.env["OMOI_RETENTION_INTERVAL"] = "9000h", "30s"
	s.url = s.dev().APIURL
	s.run()
	t.Log("\n" + s.String())
	if out := os.Getenv("OMOI_SOAK_OUT"); out != "" {
		require.NoError(t, os.WriteFile(out, []byte(s.String()), 0o644))
	}
	require.Equal(t, s.tasks, s.completed, "completed")
	s.noLeaks()
	if full {
		require.Empty(t, s.rising(), "these do not level off")
	}
}

// run submits and samples until all tasks have ended.
func (s *soak) run() {
	s.t.Helper()
	repo := s.repo()
	s.at = repo
	before := s.sizes()
	s.began = time.Now()
	next, look := time.NewTicker(s.every), time.NewTicker(s.sampling)
	defer next.Stop()
	defer look.Stop()
	for submitted := 0; submitted < s.tasks; {
		select {
		case <-next.C:
			s.submit(repo, script(stepBig, stepWrite, stepCommit, stepUnsaved, stepComplete))
			submitted++
		case <-look.C:
			s.samples = append(s.samples, s.look())
		}
	}
	waitFor(time.Hour, func() bool { // as long as a busy machine takes
		return s.count(`SELECT count(*) FROM tasks WHERE status IN ('completed', 'failed', 'cancelled')`) == s.tasks
	})
	s.took = time.Since(s.began)
	s.completed = s.count(`SELECT count(*) FROM tasks WHERE status = 'completed'`)
	s.retried = s.count(`SELECT count(*) FROM tasks WHERE attempt_count > 1`)
	s.samples = append(s.samples, s.look())
	s.growth = s.sizes()
	for table, bytes := range before {
		s.growth[table] -= bytes
	}
}

// stepBig prints more than an event row holds: a large field.
const stepBig = `{"bash":{"command":"head -c 40000 /dev/urandom | base64"}}`
