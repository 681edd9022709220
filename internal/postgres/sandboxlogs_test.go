package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/sandboxlog"
	"github.com/omoi-dev/omoi/internal/task"
)

func part(first int64, text string) sandboxlog.Part {
	return sandboxlog.Part{First: first, Last: first + int64(len(text)), Text: []byte(text)}
}

func (w world) logText(id string, after int64) string {
	w.t.Helper()
	parts, err := w.store.LogParts(w.t.Context(), id, after, 1<<20)
	require.NoError(w.t, err)
	var text []byte
	for _, p := range parts {
		text = append(text, p.Text...)
	}
	return string(text)
}

func TestWantedLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	ctx := t.Context()
	asked, id := w.box("local")
	_, other := w.box("local")
	w.exec(`UPDATE sandboxes SET state = 'running'`)
	wanted := func(host string, providers ...string) []sandboxlog.Wanted {
		got, err := w.store.WantedLogs(ctx, host, providers)
		require.NoError(t, err)
		return got
	}
	require.Empty(t, wanted("host", "local"), "nobody looks")
	since, err := w.store.WantLog(ctx, id, time.Minute)
	require.NoError(t, err)
	_, err = w.store.WantLog(ctx, other, -time.Minute)
	require.NoError(t, err)
	got := wanted("host", "local", "docker")
	require.Len(t, got, 1)
	require.Equal(t, []any{id, asked.id, id, int64(0)}, []any{got[0].SandboxID, got[0].TaskID, got[0].Labels.SandboxID, got[0].Read})
	require.Empty(t, wanted("elsewhere", "local"))
	require.Empty(t, wanted("host", "docker"))

	fresh, ended, err := w.store.LogState(ctx, id, since)
	require.NoError(t, err)
	require.False(t, fresh || ended)
	require.NoError(t, w.store.LogLooked(ctx, id))
	fresh, _, err = w.store.LogState(ctx, id, since)
	require.NoError(t, err)
	require.True(t, fresh)
}

func TestAddLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	ctx := t.Context()
	_, id := w.box("local")
	require.NoError(t, w.store.AddLog(ctx, id, []sandboxlog.Part{part(0, "one\n"), part(4, "two\n")}, 100))
	require.Equal(t, task.CodeConflict, task.CodeOf(w.store.AddLog(ctx, id, []sandboxlog.Part{part(4, "two\nthree\n")}, 100)), "another worker's look")
	require.Equal(t, "one\ntwo\n", w.logText(id, 0))
	require.Equal(t, "two\n", w.logText(id, 4))
	few, err := w.store.LogParts(ctx, id, 0, 7)
	require.NoError(t, err)
	require.Len(t, few, 1, "whole ones, as many as there is room for")
	few, err = w.store.LogParts(ctx, id, 0, 3)
	require.NoError(t, err)
	require.Len(t, few, 1, "one at least")
	require.NoError(t, w.store.AddLog(ctx, id, []sandboxlog.Part{part(8, "three\n")}, 6))
	require.Equal(t, "three\n", w.logText(id, 0), "the newest bytes")

	read, err := w.store.LogRead(ctx, id)
	require.NoError(t, err)
	require.EqualValues(t, 14, read)
	require.Equal(t, task.CodeConflict, task.CodeOf(w.store.KeepLog(ctx, id, []sandboxlog.Part{part(8, "three\nend")}, 100)))
	require.NoError(t, w.store.KeepLog(ctx, id, []sandboxlog.Part{part(14, "end")}, 100))
	require.NoError(t, w.store.KeepLog(ctx, id, []sandboxlog.Part{part(17, "nothing left")}, 100), "the first end stays")
	require.NoError(t, w.store.AddLog(ctx, id, []sandboxlog.Part{part(17, "late")}, 100))
	require.Equal(t, "three\nend", w.logText(id, 0))
	_, ended, err := w.store.LogState(ctx, id, time.Now())
	require.NoError(t, err)
	require.True(t, ended)
	require.Equal(t, task.CodeNotFound, task.CodeOf(w.store.KeepLog(ctx, "nobody", nil, 1)), "there is no such sandbox")
}
