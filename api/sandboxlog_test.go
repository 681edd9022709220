package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/sandboxlog"
)

// local gives the sandbox of a task the provider local.
func (w *world) local(in client.CreateTaskRequest) string {
	w.t.Helper()
	box := w.begin(w.task(in))
	w.exec(`UPDATE sandboxes SET provider = 'local', host_bound = true, machine = true, host_id = 'h', labels = jsonb_build_object('sandbox_id', id, 'attempt', 1, 'installation', 'i', 'task_id', task_id)
		WHERE id = $1`, box)
	return box
}

func TestSandboxLog_OfARunningSandbox(t *testing.T) {
	t.Parallel()
	w := open(t)
	box := w.local(newTask())
	none := ok[client.SandboxLog](w.call(http.MethodGet, wire+box+"/log", nil), http.StatusOK)
	require.True(t, none.Stale, "nobody has looked")
	require.False(t, none.Ended)

	w.exec(`UPDATE log_requests SET wanted_until = now() - interval '1s' WHERE sandbox_id = $1`, box)
	answered := make(chan answer, 1)
	go func() { answered <- w.call(http.MethodGet, wire+box+"/log", nil) }()
	require.Eventually(t, func() bool { // as a worker does that finds the request
		wanted, err := w.store.WantedLogs(t.Context(), "h", []string{"local"})
		return err == nil && len(wanted) == 1
	}, 20*time.Second, 20*time.Millisecond)
	require.NoError(t,
		w.store.AddLog(t.Context(), box, []sandboxlog.Part{{First: 0, Last: 4, Text: []byte("one\n")}}, 100))
	require.NoError(t, w.store.LogLooked(t.Context(), box))
	got := ok[client.SandboxLog](<-answered, http.StatusOK)
	got.Stale = false // the wait may have timed out
	require.Equal(t, client.SandboxLog{SandboxID: box, First: 0, Next: 4, End: 4, Text: "one\n"}, got)
}

func TestSandboxLog_AfterDeletion(t *testing.T) {
	t.Parallel()
	w := open(t)
	box := w.local(newTask())
	var parts []sandboxlog.Part
	for n := range 6 {
		parts = append(parts, sandboxlog.Part{
			First: int64(10 + 2*n), Last: int64(12 + 2*n), Text: []byte{byte('a' + n), 0xff},
		})
	}
	require.NoError(t, w.store.KeepLog(t.Context(), box, parts, 100))
	w.exec(`UPDATE sandboxes SET state = 'gone', gone_at = now() WHERE id = $1`, box)
	first := ok[client.SandboxLog](w.call(http.MethodGet, wire+box+"/log", nil), http.StatusOK)
	require.Equal(t, client.SandboxLog{
		SandboxID: box, First: 10, Next: 22, End: 22, Text: "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\uFFFDf\uFFFD", Ended: true,
	}, first, "what lies before is not kept")
	rest := ok[client.SandboxLog](w.call(http.MethodGet, wire+box+"/log?after=18&wait=1s", nil), http.StatusOK)
	require.Equal(t, client.SandboxLog{
		SandboxID: box, First: 18, Next: 22, End: 22, Text: "e\uFFFDf\uFFFD", Ended: true,
	}, rest)

	outside := w.begin(w.task(newTask()))
	w.call(http.MethodGet, wire+outside+"/log", nil).refused(http.StatusNotFound, "")
	w.call(http.MethodGet, wire+box+"/log?after=-1", nil).refused(422, "query.after")
}

// A response has up to 1 MiB of stored output and does not wait for a worker: in this test no worker reads.
func TestSandboxLog_StoredOutputIsReturnedAtOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	box := w.local(newTask())
	const lines, longs, long = 400, 20, 600 << 10
	var parts []sandboxlog.Part
	for n := range int64(lines) {
		parts = append(parts, sandboxlog.Part{First: n, Last: n + 1, Text: []byte("\n")})
	}
	for n := range int64(longs) {
		parts = append(parts, sandboxlog.Part{
			First: lines + n*long, Last: lines + (n+1)*long, Text: []byte("much was hidden\n"),
		})
	}
	w.exec(`UPDATE sandboxes SET state = 'running' WHERE id = $1`, box)
	require.NoError(t, w.store.AddLog(t.Context(), box, parts, 1<<30))
	begun := time.Now()
	after, answers := int64(0), 0
	for ; after < parts[len(parts)-1].Last; answers++ {
		got := ok[client.SandboxLog](w.call(http.MethodGet, fmt.Sprintf("%s%s/log?after=%d&wait=20s", wire, box, after), nil),
			http.StatusOK)
		require.Greater(t, got.Next, after)
		require.True(t, got.Stale)
		after = got.Next
	}
	require.Equal(t, longs, answers, "the lines come with the first long part")
	require.Less(t, time.Since(begun), longs*3*time.Second, "3 s is what a look may take")
}

func TestSandboxLog_OfItsOrganizationOnly(t *testing.T) {
	t.Parallel()
	w := open(t)
	box := w.local(newTask())
	other := startOn(t, w.pool, w.bus, func(c *api.Config) { c.Organization = w.strangers(); c.Open = true })
	other.call(http.MethodGet, wire+box+"/log", nil).refused(http.StatusNotFound, "")
	other.call(http.MethodPost, wire+box+"/access-sessions", client.CreateAccessSessionRequest{Kind: "exec"}).refused(http.StatusNotFound, "")
}

func TestAccessSession_IsRecorded(t *testing.T) {
	t.Parallel()
	w := open(t)
	box := w.local(newTask())
	path := wire + box + "/access-sessions"
	in := client.CreateAccessSessionRequest{Kind: "exec", Summary: "curl -H 'Authorization: Bearer abcdefghij'"}
	got := ok[client.StartedAccessSession](w.call(http.MethodPost, path, in), http.StatusCreated)
	require.Equal(t, []any{"open", "exec", box, 1, "h"},
		[]any{got.AccessSession.User, got.AccessSession.Kind, got.Labels.SandboxID, got.Labels.Attempt, got.Sandbox.HostID})
	require.NotContains(t, got.AccessSession.Summary, "abcdefghij")
	require.NotEmpty(t, got.Labels.Installation)
	end := path + "/" + got.AccessSession.ID + "/end"
	require.Equal(t, http.StatusNoContent, w.call(http.MethodPost, end, client.EndAccessSessionRequest{Outcome: "exit code 0"}).status)
	w.call(http.MethodPost, end, client.EndAccessSessionRequest{Outcome: "again"}).refused(http.StatusNotFound, "")
	receipt := ok[client.TaskReceipt](w.call(http.MethodGet, "/api/v1/tasks/"+got.Labels.TaskID+"/receipt", nil),
		http.StatusOK)
	require.Equal(t, "exit code 0", receipt.AccessSessions[0].Outcome)

	w.call(http.MethodPost, path, client.CreateAccessSessionRequest{Kind: "look"}).refused(422, "body.kind")
	w.exec(`UPDATE sandboxes SET state = 'gone' WHERE id = $1`, box)
	w.call(http.MethodPost, path, in).refused(http.StatusGone, "")
	w.call(http.MethodPost, wire+w.begin(w.task(newTask()))+"/access-sessions", in).refused(http.StatusConflict, "")
}

// Neither users with the scopes read and write nor the sandbox itself may open access sessions.
func TestAccessSession_RequiresAdmin(t *testing.T) {
	t.Parallel()
	w := start(t, func(*api.Config) {})
	const box = "abc" // any
	for _, scope := range []string{"read", "write"} {
		w.call(http.MethodPost, wire+box+"/access-sessions", client.CreateAccessSessionRequest{Kind: "exec"}, authorization, w.key(w.org, scope)).
			refused(http.StatusForbidden, "")
		w.call(http.MethodGet, "/api/v1/installation", nil, authorization, w.key(w.org, scope)).
			refused(http.StatusForbidden, "")
	}
	w.call(http.MethodPost, wire+"abc/access-sessions", client.CreateAccessSessionRequest{Kind: "exec"}, authorization, "Bearer "+w.ring.Mint("abc")).
		refused(http.StatusForbidden, "")
	require.NotEmpty(t, ok[client.Installation](
		w.call(http.MethodGet, "/api/v1/installation", nil, authorization, w.key(w.org, "admin")), http.StatusOK,
	).ID)
}
