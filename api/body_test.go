package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// raw sends a request as one text over a connection of its own, and then reads the answer.
func (w *world) raw(head string, body io.Reader) *http.Response {
	w.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(w.t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.Copy(conn, io.MultiReader(strings.NewReader(head+"\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\r\n"), body))
	require.NoError(w.t, err, "the whole request can be sent")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// Senders that read nothing before they have sent all see why they are refused.
func TestWhoSendsTooMuchIsToldSo(t *testing.T) {
	t.Parallel()
	const length = 24 << 20 // more than what a connection holds by itself
	w := open(t)
	for _, path := range []string{wire + "b/events", wire + "b/events/batch", "/api/v1/tasks", wire + "b/transcripts/r?offset=0&sum=0"} {
		method := http.MethodPost
		if strings.Contains(path, "transcripts") {
			method = http.MethodPut
		}
		long := strings.NewReader(strings.Repeat("x", length))
		res := w.raw(fmt.Sprintf("%s %s HTTP/1.1\r\nContent-Length: %d", method, path, length), long)
		require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode, path)
		chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<20, strings.Repeat("x", 1<<20))
		res = w.raw(method+" "+path+" HTTP/1.1\r\nTransfer-Encoding: chunked", strings.NewReader(strings.Repeat(chunk, length>>20)+"0\r\n\r\n"))
		require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode, path)
	}
}

// Who asks first is told before it sends anything.
func TestWhoAsksFirstNeedNotSendTooMuch(t *testing.T) {
	t.Parallel()
	w := open(t)
	res := w.raw("POST "+wire+"b/events/batch HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 99999999", http.NoBody)
	require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode)
}
