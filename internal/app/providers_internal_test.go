package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPulls(t *testing.T) {
	t.Parallel()
	key := "DAYTONA_API_KEY=some-key-of-daytona"
	for _, c := range []struct {
		environ []string
		pulls   []string
	}{
		{nil, nil},
		{[]string{key}, []string{"daytona"}},
		{[]string{key, "CALLBACK_URL=http://192.168.1.7:18000"}, []string{"daytona"}},
		{[]string{key, "CALLBACK_URL=http://my-laptop:18000"}, []string{"daytona"}},
		{[]string{key, "CALLBACK_URL=https://omoi.example.com"}, nil},
		{[]string{key, "DAYTONA_API_URL=http://127.0.0.1:4000/api"}, nil},
		{[]string{key, "OMOI_TRANSPORT_DAYTONA=push"}, nil},
		{[]string{key, "DAYTONA_API_URL=http://127.0.0.1:4000/api", "OMOI_SANDBOX_NETWORK=none"}, []string{"daytona"}},
		{[]string{key, "CALLBACK_URL=https://omoi.example.com", "OMOI_SANDBOX_NETWORK=none"}, []string{"daytona"}},
		{[]string{key, "OMOI_SANDBOX_NETWORK=none", "OMOI_TRANSPORT_DAYTONA=push"}, nil},
		{[]string{"OMOI_TRANSPORT_LOCAL=pull", "OMOI_TRANSPORT_DOCKER=pull", "OMOI_TRANSPORT_DAYTONA=push"}, []string{"local", "docker"}},
	} {
		require.Equal(t, c.pulls, pulls(fresh(t, c.environ...)), c.environ)
	}
}

// The API sees inlet connections as socket connections: without authentication, they still need a sandbox token.
func TestInlet_IsSocket(t *testing.T) {
	t.Parallel()
	in := newInlet(socketAddr())
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		_, _ = fmt.Fprintf(w, "%T", addr)
	})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(in) }()
	client := http.Client{Transport: in.way()}
	answer, err := client.Get("http://omoi/")
	require.NoError(t, err)
	said, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, "*net.UnixAddr", string(said))
	require.NoError(t, server.Shutdown(context.Background()))
	require.ErrorIs(t, <-ended, http.ErrServerClosed)
	_, err = client.Get("http://omoi/") //nolint:bodyclose // it is refused
	require.ErrorIs(t, err, net.ErrClosed)
}
