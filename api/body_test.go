package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/event"
)

// raw sends a request as one text on its own connection, and then reads the status.
func (w *world) raw(head string, body io.Reader) int {
	w.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(w.t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.Copy(conn,
		io.MultiReader(strings.NewReader(head+"\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\r\n"), body))
	require.NoError(w.t, err, "the whole request can be sent")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(w.t, err)
	require.NoError(w.t, res.Body.Close())
	return res.StatusCode
}

// A client that reads nothing before it has sent everything gets the response that rejects its body.
func TestBodyTooLong_SenderGetsTheResponse(t *testing.T) {
	t.Parallel()
	const length = 24 << 20 // more than the buffers of a connection hold
	w := open(t)
	for _, path := range []string{wire + "b/events", wire + "b/events/batch", "/api/v1/tasks", wire + "b/transcripts/r?offset=0&sum=0"} {
		method := http.MethodPost
		if strings.Contains(path, "transcripts") {
			method = http.MethodPut
		}
		long := strings.NewReader(strings.Repeat("x", length))
		status := w.raw(fmt.Sprintf("%s %s HTTP/1.1\r\nContent-Length: %d", method, path, length), long)
		require.Equal(t, http.StatusRequestEntityTooLarge, status, path)
		chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<20, strings.Repeat("x", 1<<20))
		status = w.raw(method+" "+path+" HTTP/1.1\r\nTransfer-Encoding: chunked",
			strings.NewReader(strings.Repeat(chunk, length>>20)+"0\r\n\r\n"))
		require.Equal(t, http.StatusRequestEntityTooLarge, status, path)
	}
}

// A client that sends "Expect: 100-continue" gets the response before it sends the body.
func TestExpectContinue_BodyTooLongIsRejectedFirst(t *testing.T) {
	t.Parallel()
	w := open(t)
	status := w.raw("POST "+wire+"b/events/batch HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 99999999",
		http.NoBody)
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
}

// A legacy worker resends its last event, however long, until it is acknowledged.
func TestEvent_TranscriptTooLongIsTruncated(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	w := start(t, func(c *api.Config) { c.Open, c.MaxTranscript = true, limit })
	line := strings.Repeat("x", 98) + "\n"
	said := strings.Repeat(line, 40_000)
	coded := base64.StdEncoding.EncodeToString([]byte(said))
	wrapped := func(before, after string) string {
		return `{"event_type" : "agent.completed", "event_data" : {` + before + ` "session_id": "s", "transcript_b64" : "` + coded + `"` + after + `, "success": true}}`
	}
	for box, body := range map[string]string{
		"plain":              wrapped("", ""),
		"others of its name": wrapped(`"a": {"transcript_b64": "aGk="}, "b": "\"transcript_b64\":\"",`, `, "c": ["\\"]`),
		"long beside":        wrapped(`"final_output": "`+strings.Repeat("o", 900<<10)+`",`, ""),
	} {
		ok[client.ReceivedEvent](w.call(http.MethodPost, wire+box+"/events", body), http.StatusOK)
		kept := w.storedTranscript(box)
		require.True(t, bytes.HasSuffix([]byte(said), kept))
		require.True(t, bytes.HasPrefix(kept, []byte(line)), "whole lines")
		require.Greater(t, len(kept), limit-2*len(line))
		cut := len(said) - len(kept)
		require.Equal(t, cut, w.count(`SELECT cut FROM transcripts WHERE sandbox_id = $1`, box))
		require.Equal(t, cut,
			w.count(`SELECT (event_data ->> 'transcript_cut_bytes')::integer FROM sandbox_events WHERE sandbox_id = $1`, box))
		require.Equal(t, 1,
			w.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND event_data -> 'success' = 'true'`, box))
	}
	for _, body := range []string{
		strings.Replace(wrapped("", ""), "agent.completed", "agent.message", 1),
		wrapped(`"o": "`+strings.Repeat("o", 1<<20)+`",`, ""),
		`{"event_type":"agent.completed","event_data":{"final_output":"` + coded + `"}}`,
		`{"transcript_b64":"` + coded + `"}`,
	} {
		w.call(http.MethodPost, wire+"other/events", body).refused(http.StatusRequestEntityTooLarge, "")
	}
}

// Bytes that the sender and the server cut off are added.
func TestEvent_TranscriptTruncatedBySenderIsReported(t *testing.T) {
	t.Parallel()
	w := open(t)
	wrapped := func(text string) string {
		return `{"event_type":"agent.completed","event_data":{"session_id":"s","transcript_b64":"` + base64.StdEncoding.EncodeToString([]byte(text)) + `"}}`
	}
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"b/events?transcript_cut_bytes=1000",
		wrapped("of a line\nthe rest\n")), http.StatusOK)
	require.Equal(t, "the rest\n", string(w.storedTranscript("b")))
	require.Equal(t, 1000+len("of a line\n"), w.count(`SELECT cut FROM transcripts WHERE sandbox_id = 'b'`))
	require.Equal(t, 1010,
		w.count(`SELECT (event_data ->> 'transcript_cut_bytes')::integer FROM sandbox_events WHERE sandbox_id = 'b'`))
	for _, n := range []string{"-1", "x", "1e3", "9223372036854775807"} {
		w.call(http.MethodPost, wire+"b/events?transcript_cut_bytes="+n, wrapped("x")).
			refused(http.StatusUnprocessableEntity, "query.transcript_cut_bytes")
	}
}

func TestEvent_LimitWithoutTranscriptIsOneMebibyte(t *testing.T) {
	t.Parallel()
	w := open(t)
	said := func(length int) string {
		head, tail := `{"event_type":"`+event.AgentCompleted+`","event_data":{"a":"`, `"}}`
		return head + strings.Repeat("a", length-len(head)-len(tail)) + tail
	}
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"b/events", said(1<<20)), http.StatusOK)
	require.Contains(t,
		w.call(http.MethodPost, wire+"b/events", said(1<<20+1)).refused(http.StatusRequestEntityTooLarge, "").Detail, "1 MiB")
}

// storedTranscript returns the stored transcript of a sandbox.
func (w *world) storedTranscript(box string) (content []byte) {
	w.t.Helper()
	require.NoError(w.t,
		w.pool.QueryRow(context.Background(), `SELECT content FROM transcripts WHERE sandbox_id = $1`, box).Scan(&content))
	return content
}
