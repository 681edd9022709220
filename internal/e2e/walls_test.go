package e2e_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// provider is a provider of models that the test answers for.
type provider struct {
	*httptest.Server

	t     *testing.T
	asked chan question
}

// question takes the answer to an agent that waits for it: a line that it repeats.
type question chan<- string

func newProvider(t *testing.T) *provider {
	t.Helper()
	p, over := &provider{t: t, asked: make(chan question, 100)}, make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ask", func(w http.ResponseWriter, _ *http.Request) {
		answer := make(chan string, 1)
		p.asked <- answer
		select {
		case line := <-answer:
			_, _ = io.WriteString(w, line+"\n")
		case <-over:
		}
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		close(over)
		p.Close()
	})
	return p
}

// next waits for a question.
func (p *provider) next() question {
	p.t.Helper()
	select {
	case one := <-p.asked:
		return one
	case <-time.After(patience):
		require.Fail(p.t, "nobody asks the provider")
		return nil
	}
}

// refused is what an agent says whose provider takes no more before the reset.
func refused(reset time.Time) string {
	return fmt.Sprintf(`{"omoi":"event","event_type":"agent.error","event_data":{"error":"limit","failure_class":"provider_limit","reset_at":%q}}`,
		reset.Format(time.RFC3339Nano))
}

const answeredLine = `{"omoi":"event","event_type":"agent.tool_use","event_data":{"tool":"Read"}}`

// noteGrants has the database write down when each slot was given.
const noteGrants = `CREATE TABLE grants (at timestamptz);
	CREATE FUNCTION note_grant() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO grants VALUES (clock_timestamp()); RETURN NULL; END';
	CREATE TRIGGER noted AFTER INSERT ON slots FOR EACH ROW EXECUTE FUNCTION note_grant()`

// TestFiftyTasksSleepAtOneWall has fifty tasks on one credential, five of which are at work when its provider refuses.
// Until the reset nobody asks; then one does at a time, and when that one was answered the others follow one by one.
func TestFiftyTasksSleepAtOneWall(t *testing.T) {
	t.Parallel()
	const tasks, slots, sleep, apart = 50, 5, 2 * time.Second, 100 * time.Millisecond
	p, l := newProvider(t), newLaptop(t)
	maps.Copy(l.env, map[string]string{
		"ANTHROPIC_API_KEY": "one-for-all", "ANTHROPIC_BASE_URL": p.URL, "OMOI_TEST_RATE_LIMIT_STAGGER": apart.String(),
		"MAX_CONCURRENT_TASKS_PER_PROJECT": "5",
	})
	l.dev()
	_, err := l.pool.Exec(t.Context(), noteGrants)
	require.NoError(t, err)
	repo := l.repo()
	var made []task.Task
	for range tasks {
		made = append(made, l.submit(repo, command(`curl -sS "$ANTHROPIC_BASE_URL/ask"`, `,"continuous":false`), asCommand,
			func(in *apiclient.CreateTaskRequest) { in.Mode = task.ModeExploration }))
	}

	var atWork []question
	for range slots {
		atWork = append(atWork, p.next())
	}
	reset := time.Now().Add(sleep)
	atWork[0] <- refused(reset)
	l.eventually("the wall is known", func() bool { return l.count(`SELECT count(*) FROM credential_cooldowns`) == 1 })
	for _, late := range atWork[1:] {
		late <- refused(reset)
	}
	l.met(slots)
	probe := l.probes(p, reset)
	require.GreaterOrEqual(t, l.count(`SELECT count(*) FROM tasks WHERE blocked_reason = 'provider_limit'`), tasks-1, "all but the one that tries")

	reset = time.Now().Add(sleep) // it still stands
	probe <- refused(reset)
	l.met(slots + 1)
	l.probes(p, reset) <- answeredLine

	l.eventually("the limit is known to be over", func() bool {
		return l.count(`SELECT count(*) FROM credential_cooldowns WHERE proven_at IS NOT NULL`) == 1
	})
	var proven time.Time
	require.NoError(t, l.pool.QueryRow(t.Context(), `SELECT proven_at FROM credential_cooldowns`).Scan(&proven))
	for range tasks - 1 {
		p.next() <- answeredLine
	}
	for _, m := range made {
		require.Zero(t, l.ends(m.ID, task.StatusCompleted).Retries, "a limit is no failure")
	}
	require.Equal(t, tasks+slots+1, l.count(`SELECT count(*) FROM attempts`))
	require.Equal(t, slots+1, l.count(`SELECT count(*) FROM attempts WHERE failure_class = 'provider_limit'`))
	require.Equal(t, tasks-1, l.count(`SELECT count(*) FROM grants WHERE at >= $1`, proven))
	require.Zero(t, l.count(`SELECT count(*) FROM (SELECT at - lag(at) OVER (ORDER BY at) AS gap FROM grants WHERE at >= $1) g WHERE gap < $2`, proven, apart),
		"they are let in one by one")
	l.noLeaks()
}

// met waits until n attempts have ended at their provider's limit.
func (r *rig) met(n int) {
	r.t.Helper()
	r.eventually(sprintf("%d attempts have met the limit", n), func() bool {
		return r.count(`SELECT count(*) FROM attempts WHERE failure_class = 'provider_limit'`) == n
	})
}

// probes waits for the one that tries after the reset, and for a look of the gate meanwhile: it lets in nobody else.
func (r *rig) probes(p *provider, reset time.Time) question {
	r.t.Helper()
	one := p.next()
	due := func() (at time.Time) {
		require.NoError(r.t, r.pool.QueryRow(r.t.Context(), `SELECT next_at FROM credential_cooldowns`).Scan(&at))
		return at
	}
	before := due()
	r.eventually("the gate looks at the credential", func() bool { return due().After(before) })
	require.Equal(r.t, 1, r.count(`SELECT count(*) FROM grants WHERE at >= $1`, reset), "one is let in, and not before the reset")
	require.Equal(r.t, 1, r.count(`SELECT count(*) FROM slots`))
	require.Empty(r.t, p.asked, "two try at a time")
	return one
}
