package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/task"
)

// expired returns a task that ended long ago, and whose data retention has removed.
func (w *world) expired(kinds ...string) (client.Task, string) {
	w.t.Helper()
	made := w.task(newTask())
	box := w.begin(made)
	w.report(box, 1, "agent.started", "heartbeat", "agent.tool_use")
	w.put(box, "run", "", "{}\n")
	w.end(made, task.StatusFailed)
	w.exec(`UPDATE commands SET state = 'carried_out'`)
	w.exec(`UPDATE attempts SET ended_at = now() WHERE sandbox_id = $1`, box)
	w.exec(`UPDATE sandboxes SET provider = 'local', host_bound = true, machine = true, state = 'gone', ended_at = now(), gone_at = now(), verified_at = now(),
		salvage = '{"kind": "patch", "ref": "018f0000-0000-7000-8000-000000000000"}' WHERE id = $1`, box)
	w.exec(`UPDATE sandbox_events SET cut = true WHERE sequence = 3`)
	w.exec(`INSERT INTO event_fields (sandbox_id, sequence, partition_month, names, fields) SELECT id, 3, partition_month, '{diff}', '{"diff": "long text of a diff"}' FROM sandboxes`)
	for _, kind := range kinds {
		for more := true; more; {
			done, err := w.store.Retain(w.t.Context(), kind, time.Now().Add(time.Hour), time.Now().Add(time.Minute))
			require.NoError(w.t, err)
			more = done.More
		}
	}
	return made, box
}

// Readers of removed data get 410 with the date; legacy pages are empty.
func TestRetention_ReadersGetGone(t *testing.T) {
	t.Parallel()
	w := open(t)
	made, box := w.expired(retention.Events, retention.Transcripts, retention.Patches)
	of := "/api/v1/tasks/" + made.ID
	for _, path := range []string{
		wire + box + "/events/" + box + ":1", wire + box + "/integrity", wire + box + "/counts",
		wire + box + "/stream", wire + box + "/stream?after=1", wire + box + "/transcripts/run", wire + box + "/log",
		of + "/events", of + "/events?cursor=1:2", of + "/stream", of + "/stream?after=1:2", of + "/transcripts/run",
		of + "/saved-work/1",
	} {
		res := w.call(http.MethodGet, path, nil)
		require.Equal(t, http.StatusGone, res.status, path)
		require.Contains(t, string(res.body), time.Now().Add(time.Hour).UTC().Format(time.DateOnly), path)
	}
	page := ok[map[string]any](w.call(http.MethodGet, wire+box+"/events", nil), http.StatusOK)
	require.Empty(t, page["events"])
	require.EqualValues(t, 0, page["total_count"])
	require.Empty(t, w.trajectory(box, "").Events)
	ok[map[string]any](w.call(http.MethodGet, wire+box+"/phase-status", nil), http.StatusOK)
	ok[client.Task](w.call(http.MethodGet, of, nil), http.StatusOK)
	ok[map[string]any](w.call(http.MethodGet, of+"/receipt", nil), http.StatusOK)
	end := ok[client.TaskEventList](w.call(http.MethodGet, of+"/events?cursor=1:3", nil), http.StatusOK)
	require.Nil(t, end.NextCursor, "who has read all is at the end")
}

// Retention removes a branch without commits. A missing branch with commits was removed outside of omoi.
func TestRetention_DiffOfARemovedBranch(t *testing.T) {
	t.Parallel()
	w := open(t)
	made, box := w.expired()
	w.exec(`UPDATE tasks SET branch_name = 'feature/x', base_commit = 'c0'`)
	none := error(task.Invalid("branch", "Repository %s has no branch.", goodRepo))
	w.repos.noBranch.Store(&none)
	diff := "/api/v1/tasks/" + made.ID + "/diff"
	w.call(http.MethodGet, diff, nil).refused(http.StatusUnprocessableEntity, "query.branch")
	require.NoError(t, w.store.NoteRemoval(t.Context(), retention.Branches, made.ID, time.Now()))
	res := w.call(http.MethodGet, diff, nil)
	require.Equal(t, http.StatusGone, res.status)
	require.Contains(t, string(res.body), "The branch of task "+made.ID+" was removed on "+time.Now().UTC().Format(time.DateOnly)+": older than retention.branches.")
	w.exec(`UPDATE attempts SET head_commit = 'c1' WHERE sandbox_id = $1`, box)
	w.call(http.MethodGet, diff, nil).refused(http.StatusUnprocessableEntity, "query.branch")
}

// A list includes an event whose large fields were removed; a request for the event itself gets 410.
func TestRetention_LargeFieldsAlone(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, box := w.expired(retention.LargeFields)
	require.Len(t, w.trajectory(box, "").Events, 2)
	w.call(http.MethodGet, wire+box+"/events/"+box+":3", nil).refused(http.StatusGone, "")
	ok[client.Event](w.call(http.MethodGet, wire+box+"/events/"+box+":1", nil), http.StatusOK)
	require.True(t, ok[client.Integrity](w.call(http.MethodGet, wire+box+"/integrity", nil), http.StatusOK).Gapless)
}

// Operators see the sizes and what expires next; other users do not.
func TestStorage(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) {
		c.Retention = retention.Policy{Keep: map[string]time.Duration{retention.Events: time.Nanosecond}}
	})
	w.call(http.MethodGet, "/api/v1/storage", nil, authorization, w.key(w.org, "write")).refused(http.StatusForbidden, "")
	got := ok[retention.Storage](w.call(http.MethodGet, "/api/v1/storage", nil, authorization, w.key(w.org, "admin")),
		http.StatusOK)
	require.Len(t, got.Kinds, len(retention.Kinds()))
	require.Positive(t, *got.Kinds[0].Bytes)
}

// TestRetention_ReadersInTheMiddleGetGone removes events between a reader's check of the retention and its query of the
// events.
func TestRetention_ReadersInTheMiddleGetGone(t *testing.T) {
	t.Parallel()
	w := open(t)
	made, box := w.expired()
	of := "/api/v1/tasks/" + made.ID
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	_, err = tx.Exec(t.Context(), `LOCK TABLE sandbox_events IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	stream := w.follow(t, wire+box+"/stream?after=1")
	list := soon(func() answer { return w.call(http.MethodGet, of+"/events", nil) })
	holder := tx.Conn().PgConn().PID()
	require.Eventually(t, func() bool {
		return w.count(`SELECT count(*) FROM pg_stat_activity WHERE $1::integer = ANY (pg_blocking_pids(pid))`, holder) == 2
	}, time.Minute, 5*time.Millisecond)
	_, err = tx.Exec(t.Context(),
		`INSERT INTO removals (subject, kind, removed_at) SELECT id, 'events', now() FROM sandboxes`)
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `DELETE FROM sandbox_events WHERE sequence < 3`)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	(<-list).refused(http.StatusGone, "")
	require.Equal(t, "error", stream.event().event)
	require.Contains(t, stream.raw.String(), `"status":410`)
	stream.close()
}
