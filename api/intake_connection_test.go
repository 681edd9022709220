package api_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// heard is a response without the parts that differ in each.
type heard struct {
	status int
	header []string
	body   string
}

// own matches the parts that differ in each response: IDs and times.
var own = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[0-9:.]+Z|:\d+"`)

// ask posts on a connection.
func ask(t *testing.T, conn net.Conn, answers *bufio.Reader, request string) heard {
	t.Helper()
	_, err := io.WriteString(conn, request)
	require.NoError(t, err)
	resp, err := http.ReadResponse(answers, nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	h := heard{status: resp.StatusCode, body: own.ReplaceAllString(string(body), "*")}
	require.NotEmpty(t, resp.Header.Get("X-Request-ID"))
	for _, name := range []string{"X-Request-ID", "Date", "Content-Length"} {
		resp.Header.Del(name)
	}
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		h.header = append(h.header, fmt.Sprintf("%s: %q", name, resp.Header[name]))
	}
	return h
}

// The first and the second request on a connection get the same response.
func TestPostedEvent_SameAnswerOnNewAndUsedConnection(t *testing.T) {
	t.Parallel()
	w := closed(t)
	w.exec(`INSERT INTO sandboxes (id, organization_id, provider, machine, state)
		VALUES ('b', $1, 'bare', false, 'running')`, w.org)
	mine := "Authorization: Bearer " + w.ring.Mint("b") + "\r\n"
	post := func(path, head, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%sContent-Length: %d\r\n\r\n%s", path, head,
			len(body), body)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(`{"event_type":"packed"}`))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	const events, event = wire + "b/events", `{"event_type":"x","event_data":{"a":"` + "\u00e9" + `"}}`
	var statuses []int
	for name, request := range map[string]string{
		"taken":      post(events, mine, event),
		"with an id": post(events, mine+"Idempotency-Key: k\r\n", event),
		"typed": post(events,
			mine+"Content-Type: application/json; charset=utf-8\r\nUser-Agent: me\r\nAccept: */*\r\n", event),
		"packed":          post(events, mine+"Content-Encoding: gzip\r\n", packed.String()),
		"badly packed":    post(events, mine+"Content-Encoding: gzip\r\n", "no"),
		"oddly packed":    post(events, mine+"Content-Encoding: br\r\n", "no"),
		"by the path":     post("/t/"+w.ring.Mint("b")+events, "", event),
		"no login":        post(events, "", event),
		"a wrong login":   post(events, "Authorization: Bearer omoi_no\r\n", event),
		"another's":       post(wire+"c/events", mine, event),
		"nobody's":        post(wire+"c/events", "Authorization: Bearer "+w.ring.Mint("c")+"\r\n", event),
		"no JSON":         post(events, mine, "{"),
		"no body":         post(events, mine, ""),
		"no type":         post(events, mine, "{}"),
		"another form":    post(events, mine+"Content-Type: text/plain\r\n", event),
		"lines":           post(events, mine+"Content-Type: application/x-ndjson\r\n", event),
		"too long":        post(events, mine, strings.Repeat(" ", 1<<20-len(event))+event+" "),
		"a batch":         post(events+"/batch", mine, `{"spool_id":"s","first":1,"events":[`+event+`]}`),
		"a gap":           post(events+"/batch", mine, `{"spool_id":"s","first":7,"events":[`+event+`]}`),
		"an empty batch":  post(events+"/batch", mine, `{"spool_id":"s","first":2,"events":[]}`),
		"no such route":   post("/nowhere/events", mine, event),
		"a nameless one":  post("/api/v1/sandboxes//events", mine, event),
		"too long a name": post(wire+strings.Repeat("b", 101)+"/events", mine, event),
	} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
		require.NoError(t, err)
		answers := bufio.NewReader(conn)
		ask(t, conn, answers, request) // a duplicate may get another response
		again := ask(t, conn, answers, request)
		other, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
		require.NoError(t, err)
		require.Equal(t, ask(t, other, bufio.NewReader(other), request), again, name)
		statuses = append(statuses, again.status)
		require.NoError(t, conn.Close())
		require.NoError(t, other.Close())
	}
	slices.Sort(statuses)
	require.Subset(t, statuses, []int{200, 401, 403, 404, 409, 413, 415, 422})
}
