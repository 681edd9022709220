package taskcmd_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/explain"
)

// noticeFake returns a server with one rule, and the bodies that it received.
func noticeFake(t *testing.T) (*fakeAPI, *[]map[string]any) {
	t.Helper()
	f, bodies := newFake(t), &[]map[string]any{}
	at := time.Date(2026, 11, 28, 1, 2, 3, 0, time.Local)
	rule := client.NoticeRule{
		ID: idA, Scope: "user", Channel: "slack", Receiver: "https://hooks.example/...", Events: []string{"done", "failed"}, Enabled: true, Pending: 3,
		Failures: 2, Error: "the receiver answered 403", RetryAt: &at,
	}
	reads := func(status int, value any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			raw, _ := io.ReadAll(r.Body)
			var body map[string]any
			if json.Unmarshal(raw, &body) == nil {
				*bodies = append(*bodies, body)
			}
			answer(w, status, value)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/notice-rules", reads(http.StatusOK, client.Page[client.NoticeRule]{Items: []client.NoticeRule{rule}}))
	mux.HandleFunc("POST /api/v1/notice-rules", reads(http.StatusCreated, rule))
	mux.HandleFunc("PATCH /api/v1/notice-rules/{id}", reads(http.StatusOK, rule))
	mux.HandleFunc("DELETE /api/v1/notice-rules/{id}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("POST /api/v1/notice-rules/{id}/test", reads(http.StatusOK, client.NoticeTest{State: "failed", Error: "the receiver answered 403"}))
	mux.HandleFunc("GET /api/v1/notices", func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, []string{idA, "20"}, []string{r.FormValue("rule_id"), r.FormValue("limit")})
		answer(w, http.StatusOK, client.Page[client.Notice]{Items: []client.Notice{{
			TaskKey: "APP-1", Event: "done", Channel: "slack", Delivery: explain.Delivery{State: "delivered", Attempts: 2},
		}}})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f, bodies
}

func TestNotice_Create(t *testing.T) {
	t.Parallel()
	f, bodies := noticeFake(t)
	got := f.with(call{stdin: "https://hooks.example/T0/planted\n"}, "notice", "create", "slack", "--event", "done,failed", "--organization")
	require.Zero(t, got.code, got.err)
	require.NotContains(t, got.out+got.err, "planted")
	require.Equal(t, map[string]any{
		"channel": "slack", "address": "https://hooks.example/T0/planted", "scope": "organization", "events": []any{"done", "failed"},
	}, (*bodies)[0])
	got = f.with(call{stdin: "https://in.example/hook"}, "notice", "create", "webhook")
	require.Contains(t, got.err, (*bodies)[1]["secret"], "a created secret is shown once")
	got = f.with(call{stdin: "https://ntfy.example/topic tk_1"}, "notice", "create", "ntfy")
	require.Zero(t, got.code, got.err)
	require.Equal(t, []any{"https://ntfy.example/topic", "tk_1"}, []any{(*bodies)[2]["address"], (*bodies)[2]["secret"]})
	require.Equal(t, exit.Usage, f.omoi("notice", "create", "slack", "https://hooks.example/T0/planted").code, "an address is no argument")
	require.Len(t, *bodies, 3)
}

func TestNotice_ListsAndChanges(t *testing.T) {
	t.Parallel()
	f, bodies := noticeFake(t)
	require.Regexp(t, `slack +https://hooks.example/... +yours +done,failed +failed 2 times, retry at 01:02:03: the receiver answered 403 +3\n`, f.omoi("notice", "list").out)
	got := f.omoi("notice", "update", idA, "--enabled=false")
	require.Zero(t, got.code, got.err)
	require.Equal(t, map[string]any{"enabled": false}, (*bodies)[0])
	got = f.omoi("notice", "test", idA)
	require.Equal(t, []any{exit.Failed, "failed the receiver answered 403\n"}, []any{got.code, got.out})
	require.Regexp(t, `APP-1 +done +slack +delivered +2 +-\n`, f.omoi("notice", "deliveries", "--rule", idA).out)
	require.Contains(t, f.omoi("notice", "delete", idA).out, "Deleted rule ")
}
