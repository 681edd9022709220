package api_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChunks_Malformed expects 400 for malformed chunks on every kind of route, and 408 for a body that was cut off.
func TestChunks_Malformed(t *testing.T) {
	t.Parallel()
	w := open(t)
	address := strings.TrimPrefix(w.url, "http://")
	send := func(path, body string) (int, string) {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		_, err = io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "+
			"application/json\r\nTransfer-Encoding: chunked\r\n\r\n"+body)
		require.NoError(t, err)
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		defer func() { _ = answer.Body.Close() }()
		said, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(said)
	}
	for _, path := range []string{"/api/v1/sandboxes/b/events", "/api/v1/sandboxes/b/events/batch", "/api/v1/tasks", "/api/v1/sandboxes/b/messages"} {
		for name, body := range map[string]string{
			"no length":        "zz\r\n{}\r\n0\r\n\r\n",
			"chunk too long":   "2\r\n{}{}\r\n0\r\n\r\n",
			"length overflows": "ffffffffffffffffff\r\n{}\r\n",
		} {
			status, said := send(path, body)
			require.Equal(t, http.StatusBadRequest, status, path+" "+name+" "+said)
			require.NotContains(t, said, "again", path+" "+name)
		}
	}
	status, _ := send("/api/v1/sandboxes/b/events", "20\r\n{}")
	require.Equal(t, http.StatusRequestTimeout, status)
}

// TestNumbers_OutOfRange expects 422 with a message that names the field, and without texts of Go. If the body has a
// schema, a number that no double holds is 400.
func TestNumbers_OutOfRange(t *testing.T) {
	t.Parallel()
	w := open(t)
	const task = `{"repo":"/srv/git/app","title":"a","agent":"external",`
	status := func(body string) int {
		if strings.Contains(body, "1e999") || strings.Contains(body, "1e400") {
			return http.StatusBadRequest
		}
		return http.StatusUnprocessableEntity
	}
	for _, c := range [][2]string{
		{"/api/v1/tasks", task + `"budget":{"usd":1e999}}`},
		{"/api/v1/tasks", task + `"budget":{"tokens":1e30}}`},
		{"/api/v1/tasks", task + `"max_retries":1e400}`},
		{"/api/v1/tasks", task + `"max_retries":99999999999999999999}`},
		{"/api/v1/tasks", task + `"max_retries":1.5}`},
		{"/api/v1/tasks", task + `"similarity_threshold":1e999}`},
		{"/api/v1/tasks", task + `"execution_config":{"validator":{"rounds":1e30}}}`},
		{"/api/v1/sandboxes/b/events/batch", `{"spool_id":"s","first":1e30,"events":[{"event_type":"x"}]}`},
		{"/api/v1/sandboxes/b/events/batch", `{"spool_id":"s","first":99999999999999999999,"events":[{"event_type":"x"}]}`},
	} {
		answer := w.call(http.MethodPost, c[0], c[1])
		require.Equal(t, status(c[1]), answer.status, c[1]+" "+string(answer.body))
		if answer.status == http.StatusBadRequest {
			require.Regexp(t, `of the field (budget\.usd|max_retries|similarity_threshold) is out of range`, string(answer.body))
			require.NotContains(t, string(answer.body), "well-formed")
		}
		for _, word := range []string{"Go ", "json:", "int64", "float64", "strconv", "unmarshal"} {
			require.NotContains(t, string(answer.body), word, c[1])
		}
	}
}

// The name of a field comes from the caller; the response truncates it.
func TestNumbers_OutOfRangeInALongField(t *testing.T) {
	t.Parallel()
	answer := open(t).call(http.MethodPost, "/api/v1/tasks", `{"`+strings.Repeat("k", 100_000)+`":1e999}`)
	require.Equal(t, http.StatusBadRequest, answer.status)
	require.Less(t, len(answer.body), 2000)
}
