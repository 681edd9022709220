package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// A stop that cuts off a request says what failed, why, and what to do next.
func TestShutdown_RequestTakesTooLong(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(arrived); <-release })}
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
