package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// A run forgets what it waited for where it is reset or continued; the ledger does not.
func TestARunIsToldWhoseCleanupsWillLookAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{Settings: contract.Settings{CleanupWait: time.Hour}})
	for edit, left := range map[string]bool{
		"state = 'gone', gone_at = now()":                             true,
		"state = 'deleting'":                                          true,
		"state = 'lost'":                                              false,
		"state = 'gone', gone_at = now(), verified_at = now()":        false,
		"state = 'gone', gone_at = now(), provider = 'external'":      false,
		"state = 'deleting', ended_at = ended_at - interval '2 hour'": false, // given up on
	} {
		a := w.task(w.project(5), "provider = 'daytona'")
		live := w.running(a)
		require.Empty(t, w.loadAs(a.ref(), "reset").Left, "its attempt lives")
		w.write(a, contract.Projection{Ordinal: 9, Status: task.StatusPending, Ended: &contract.AttemptEnd{Number: 1, Outcome: "failed"}})
		w.exec(`UPDATE sandboxes SET `+edit+` WHERE id = $1`, live.SandboxID)
		w.exec(`UPDATE attempts a SET ended_at = s.ended_at FROM sandboxes s WHERE s.id = a.sandbox_id AND s.id = $1`, live.SandboxID)
		var want []string
		if left {
			want = []string{live.SandboxID}
		}
		next := a.ref()
		require.ElementsMatch(t, want, w.loadAs(next, "reset").Left, edit)
		next.Continues = "reset"
		continued := w.loadAs(next, "continued")
		require.True(t, continued.Continues)
		require.ElementsMatch(t, want, continued.Left, edit)
	}
}
