package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPostEvent_RejectsOtherContentTypes(t *testing.T) {
	t.Parallel()
	w := open(t)
	path := wire + "b/events"
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/x-ndjson"} {
		w.call(http.MethodPost, path, `{"event_type":"x"}`, "Content-Type", media).
			refused(http.StatusUnsupportedMediaType, "")
		w.call(http.MethodPost, path+"/batch", `{"spool_id":"s","first":1}`, "Content-Type", media).
			refused(http.StatusUnsupportedMediaType, "")
	}
	require.Equal(t, http.StatusOK,
		w.call(http.MethodPost, path, `{"event_type":"x"}`, "Content-Type", "Application/JSON; charset=utf-8").status)
	require.Equal(t, http.StatusOK, w.call(http.MethodPost, path, `{"event_type":"x"}`, "Content-Type", "").status)
	require.Equal(t, 2, w.count(`SELECT count(*) FROM sandbox_events`))
}

// The event routes have their own handler, with the same checks as all other routes.
func TestPostEvent_IsCheckedLikeOtherRoutes(t *testing.T) {
	t.Parallel()
	w := open(t)
	const path = wire + "b/events"
	for _, header := range [][]string{{"Origin", "http://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Host", "evil.example"}} {
		for _, route := range []string{path, path + "/batch"} {
			w.call(http.MethodPost, route, `{"event_type":"x"}`, header...).refused(http.StatusForbidden, "")
		}
	}
	got := w.call(http.MethodPost, path, `{"event_type":"x"}`)
	require.Equal(t, []string{"application/json", "nosniff", "DENY", "no-store"}, []string{
		got.header.Get("Content-Type"), got.header.Get("X-Content-Type-Options"), got.header.Get("X-Frame-Options"),
		got.header.Get("Cache-Control"),
	})
	require.NotEmpty(t, got.header.Get("X-Request-ID"))
	require.Equal(t, http.StatusMethodNotAllowed, w.call(http.MethodDelete, path, nil).status)
	require.Equal(t, http.StatusMethodNotAllowed, w.call(http.MethodPut, path+"/batch", "{}").status)
}
