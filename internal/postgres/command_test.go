package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

func (w world) take(a asked, c contract.Command, ordinal int64) contract.LoadedCommand {
	w.t.Helper()
	taken, err := w.store.LoadCommand(w.t.Context(), contract.LoadCommandInput{TaskID: a.id, Command: c, Ordinal: ordinal}, a.run)
	require.NoError(w.t, err)
	return taken
}

func TestLoadCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	for args, want := range map[string]contract.LoadedCommand{
		`{"reason": "no need"}`:           {Kind: contract.CommandCancel, Reason: "no need"},
		`{"success": true, "result": {}}`: {Kind: contract.CommandComplete, OK: true},
		`{}`:                              {Kind: contract.CommandComplete, OK: true},
		`{"ok": false, "error_message": "it broke"}`:     {Kind: contract.CommandComplete, Reason: "it broke"},
		`{"passed": true, "feedback": "good"}`:           {Kind: contract.CommandVerdict, OK: true},
		`{"reason": "reported", "passed": "not a bool"}`: {Kind: contract.CommandFail, Reason: "reported"},
	} {
		want.ID = w.command(a.id, want.Kind, args)
		require.Equal(t, want, w.take(a, contract.Command{ID: want.ID, Kind: want.Kind}, 1))
	}
}

func TestLoadCommand_StoresFeedbackOfVerdict(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	id := w.command(a.id, contract.CommandVerdict, `{"passed": false, "feedback": "add tests", "recommendations": ["one", "two"]}`)
	taken := w.take(a, contract.Command{ID: id, Kind: contract.CommandVerdict}, 1)
	require.False(t, taken.OK)
	text, err := w.store.Text(t.Context(), taken.FeedbackID)
	require.NoError(t, err)
	require.Equal(t, "add tests\n- one\n- two", text)
	require.Equal(t, taken, w.take(a, contract.Command{ID: id, Kind: contract.CommandVerdict}, 1))
	require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM stored_texts`))
}

func TestLoadCommand_SettledOrUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(5)
	a, other := w.task(p, ""), w.task(p, "")
	settled := w.command(a.id, contract.CommandCancel, `{}`)
	w.exec(`UPDATE commands SET state = 'carried_out' WHERE id = $1`, settled)
	theirs := w.command(other.id, contract.CommandCancel, `{}`)
	for _, id := range []string{settled, theirs, task.NewID(), "no id at all"} {
		require.True(t, w.take(a, contract.Command{ID: id, Kind: contract.CommandCancel}, 1).Settled, id)
	}
}

func TestLoadCommand_FromTemporalCLI(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	c := contract.Command{Kind: contract.CommandCancel, Reason: "by hand"}
	taken := w.take(a, c, 7)
	require.Equal(t, contract.LoadedCommand{ID: taken.ID, Kind: contract.CommandCancel, Reason: "by hand"}, taken)
	require.Equal(t, taken, w.take(a, c, 7), "the same run and ordinal is the same command")
	require.NotEqual(t, taken.ID, w.take(a, c, 8).ID)
	require.Equal(t, "temporal cli", one[string](t, w.pool, `SELECT sender FROM commands WHERE id = $1 AND sent_at IS NOT NULL`, taken.ID))
	for _, kind := range []string{"start", "", "nonsense"} {
		require.True(t, w.take(a, contract.Command{Kind: kind}, 9).Settled, kind)
	}
}
