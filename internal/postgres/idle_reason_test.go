package postgres_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// The reasons of OmoiOS, each in the corresponding situation of omoi.
func TestIdleReason(t *testing.T) {
	t.Parallel()
	const (
		executed = `execution_completed_at = now()`
		broken   = `execution_failed_at = now()`
		between  = `last_completed = 'prd', last_completed_at = now() - interval '6 minutes'`
	)
	w := newWorld(t, postgres.Config{})
	project := w.project(50)
	for name, c := range map[string]struct {
		progress, outcome, idle, want string
	}{
		"it beat and did no work":         {"", "failed", contract.IdleStuck, "stuck_running"},
		"it waited for a message":         {"", "failed", contract.IdleTimeout, "idle_timeout"},
		"its phases are done":             {executed, "completed", "", "execution_completed"},
		"its phases are done and it hung": {executed, "failed", contract.IdleStuck, "execution_completed"},
		"its phases failed":               {broken, "failed", "", "execution_failed"},
		"no next phase began":             {between, "failed", contract.IdleTimeout, "stuck_between_phases"},
		"the next phase has begun":        {between + `, started = '{"requirements":"2026-01-01"}'`, "failed", contract.IdleStuck, "stuck_running"},
		"a phase has just ended":          {`last_completed = 'prd', last_completed_at = now()`, "failed", contract.IdleStuck, "stuck_running"},
		"the last phase ended":            {`last_completed = 'sync', last_completed_at = now() - interval '6 minutes'`, "failed", contract.IdleStuck, "stuck_running"},
		"it completed like any other":     {"", "completed", "", ""},
		"it failed between phases":        {between, "failed", "", ""},
		"a person cancelled it":           {executed, "cancelled", "", ""},
	} {
		require.Equal(t, c.want, w.endedIdle(project, c.progress, c.outcome, c.idle), name)
	}
}

// endedIdle ends an attempt and returns the reason on the bus; empty: none.
func (w world) endedIdle(project, progress, outcome, idle string) string {
	w.t.Helper()
	a := w.task(project, "")
	live := w.running(a)
	if progress != "" {
		w.exec(`INSERT INTO spec_progress (sandbox_id) VALUES ($1)`, live.SandboxID)
		w.exec(`UPDATE spec_progress SET `+progress+` WHERE sandbox_id = $1`, live.SandboxID)
	}
	w.write(a, contract.Projection{
		Ordinal: 4, Status: task.StatusPending, Class: task.ClassAgentError,
		Ended: &contract.AttemptEnd{Number: live.Number, Outcome: outcome, Idle: idle},
	})
	for _, f := range pgtest.Frames(w.t, w.pool, "SANDBOX_TERMINATED_IDLE") {
		if f.EntityID == live.SandboxID {
			return payloadOf(w.t, f)["reason"].(string)
		}
	}
	return ""
}

func payloadOf(tb testing.TB, f ingest.BusEvent) map[string]any {
	tb.Helper()
	said := map[string]any{}
	require.NoError(tb, json.Unmarshal(f.Payload, &said))
	return said
}
