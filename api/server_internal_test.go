package api

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// The error of a shutdown that closes a request says what failed, why, and what to do next.
func TestShutdown_RequestTakesTooLong(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	server := &http.Server{
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(arrived); <-release }),
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	require.NoError(t, err)
	<-arrived
	err = (&API{}).shutdown(t.Context(), server, 0)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	public, ok := errors.AsType[*task.Error](err)
	require.True(t, ok, "people read %q", err)
	require.Regexp(t, `^cannot .+: .+ cut off\. Next: .+`, public.Message)
}

// served starts a server of the API with a timeout of its own.
func served(t *testing.T, timeout time.Duration) (addr string) {
	t.Helper()
	a := New(Config{Open: true}, depsOfAll())
	server := a.server(t.Context())
	require.Positive(t, server.ReadHeaderTimeout)
	require.Positive(t, server.ReadTimeout)
	server.ReadTimeout = timeout
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-done, http.ErrServerClosed)
	})
	return l.Addr().String()
}

// statusOf sends a text, then nothing, and returns the status of the response.
func statusOf(t *testing.T, addr, text string) int {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	answers := bufio.NewReader(conn)
	answer, err := http.ReadResponse(answers, nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	_, err = answers.ReadByte()
	require.ErrorIs(t, err, io.EOF, "the connection ends")
	return answer.StatusCode
}

// A client that sends only the headers of a request gets a response, and its connection ends.
func TestServer_BodyNeverArrives(t *testing.T) {
	t.Parallel()
	addr := served(t, 100*time.Millisecond)
	for _, path := range []string{"/api/v1/sandboxes/b/events", "/api/v1/sandboxes/b/events/batch", "/api/v1/tasks"} {
		status := statusOf(t, addr, "POST "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n\r\n")
		require.Equal(t, http.StatusRequestTimeout, status, path)
	}
}

func TestServer_HeadTooLong(t *testing.T) {
	t.Parallel()
	status := statusOf(t, served(t, time.Minute),
		"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "+strings.Repeat("y", 70<<10)+"\r\n\r\n")
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, status)
}
