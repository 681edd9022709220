package api_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const ndjson = "application/x-ndjson"

func TestBatchesMayBeLines(t *testing.T) {
	t.Parallel()
	w := open(t)
	post := func(query, body string, headers ...string) answer {
		return w.call(http.MethodPost, wire+"b/events/batch"+query, body, append([]string{"Content-Type", ndjson}, headers...)...)
	}
	const two = "{\"event_type\":\"x\",\"event_data\":{\"n\":1}}\r\n{\"event_type\":\"y\"}\n\n"
	require.JSONEq(t, `{"acknowledged":2,"duplicates":0}`, string(post("?spool_id=s&first=1", two).body))
	require.JSONEq(t, `{"acknowledged":3,"duplicates":1}`, string(post("?spool_id=s&first=2", two, "Content-Type", ndjson+"; charset=utf-8").body))
	require.JSONEq(t, `{"acknowledged":3,"duplicates":0}`, string(post("?spool_id=s&first=4", "").body), "asks for the mark")
	require.EqualValues(t, 3, *post("?spool_id=s&first=9", two).refused(http.StatusConflict, "").Acknowledged)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(two))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.JSONEq(t, `{"acknowledged":5,"duplicates":0}`, string(post("?spool_id=s&first=4", packed.String(), "Content-Encoding", "gzip").body))
	require.Equal(t, 5, w.count(`SELECT count(*) FROM sandbox_events`))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM sandbox_events WHERE event_data = '{"n":1}' AND sequence = 1`))
}

func TestFaultsNameTheLine(t *testing.T) {
	t.Parallel()
	w := open(t)
	post := func(query, body string) answer {
		return w.call(http.MethodPost, wire+"b/events/batch"+query, body, "Content-Type", ndjson)
	}
	const good, query = `{"event_type":"x"}` + "\n", "?spool_id=s&first=1"
	for line, location := range map[string]string{
		`{"event_type":`:                   "body.line 2",
		"":                                 "body.line 2",
		`[]`:                               "body.line 2",
		`{"event_type":7}`:                 "body.line 2.event_type",
		`{}`:                               "body.line 2.event_type",
		`{"event_type":"x","source":"me"}`: "body.line 2.source",
		`{"event_type":"x","event_data":{"a":1e999}}`: "body.line 2.event_data",
		good[:len(good)-1] + " " + good:               "body.line 2",
	} {
		require.Contains(t, post(query, good+line+"\n"+good).refused(http.StatusUnprocessableEntity, location).Detail, "In line 2: ", line)
	}
	post("?first=1", good).refused(http.StatusUnprocessableEntity, "query.spool_id")
	post("?spool_id=s&first=one", good).refused(http.StatusUnprocessableEntity, "query.first")
	post("?spool_id=s&first=0", good).refused(http.StatusUnprocessableEntity, "query.first")
	post(query, strings.Repeat(good, 1001)).refused(http.StatusUnprocessableEntity, "body.events")
	post(query, strings.Repeat(good, 300_000)).refused(http.StatusRequestEntityTooLarge, "")
	require.Zero(t, w.count(`SELECT count(*) FROM sandbox_events`))
}

func TestOtherContentTypesAreRefused(t *testing.T) {
	t.Parallel()
	w := open(t)
	path := wire + "b/events"
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		w.call(http.MethodPost, path, `{"event_type":"x"}`, "Content-Type", media).refused(http.StatusUnsupportedMediaType, "")
		w.call(http.MethodPost, path+"/batch", `{"spool_id":"s","first":1}`, "Content-Type", media).refused(http.StatusUnsupportedMediaType, "")
	}
	w.call(http.MethodPost, path, `{"event_type":"x"}`, "Content-Type", ndjson).refused(http.StatusUnsupportedMediaType, "")
	require.Equal(t, http.StatusOK, w.call(http.MethodPost, path, `{"event_type":"x"}`, "Content-Type", "Application/JSON; charset=utf-8").status)
	require.Equal(t, http.StatusOK, w.call(http.MethodPost, path, `{"event_type":"x"}`, "Content-Type", "").status)
	require.Equal(t, 2, w.count(`SELECT count(*) FROM sandbox_events`))
}

// The routes of reports are served apart from all others: they must be as careful.
func TestReportsAreGuardedLikeEverythingElse(t *testing.T) {
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
		got.header.Get("Content-Type"), got.header.Get("X-Content-Type-Options"), got.header.Get("X-Frame-Options"), got.header.Get("Cache-Control"),
	})
	require.NotEmpty(t, got.header.Get("X-Request-ID"))
	require.Equal(t, http.StatusMethodNotAllowed, w.call(http.MethodDelete, path, nil).status)
	require.Equal(t, http.StatusMethodNotAllowed, w.call(http.MethodPut, path+"/batch", "{}").status)
}
