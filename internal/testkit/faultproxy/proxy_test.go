package faultproxy_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/internal/testkit/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers what it was asked, and counts what it has read whole and in part.
type echo struct{ whole, part atomic.Int64 }

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		e.part.Add(1)
		w.WriteHeader(http.StatusRequestTimeout)
		return
	}
	e.whole.Add(1)
	_, _ = w.Write(body)
}

// Everything that may happen to a connection does, and what comes through is what was sent.
func TestEveryFate(t *testing.T) {
	t.Parallel()
	served := &echo{}
	server := httptest.NewServer(served)
	t.Cleanup(server.Close)
	proxy, err := faultproxy.Start(faultproxy.Config{
		Seed: 7, Servers: []string{server.Listener.Addr().String()}, Hold: time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)

	sent := bytes.Repeat([]byte("0123456789abcdef"), 512)
	answered, gateway, half, failed := 0, 0, 0, 0
	all := []string{
		faultproxy.Refused, faultproxy.BadGateway, faultproxy.Silent, faultproxy.RequestCut, faultproxy.HalfClosed,
		faultproxy.AnswerCut, faultproxy.Delayed,
	}
	for range 2000 {
		status, got, err := post(client, proxy.URL(), sent)
		switch {
		case err != nil:
			failed++
		case status == http.StatusBadGateway:
			gateway++
		case status == http.StatusRequestTimeout, status == http.StatusBadRequest: // ended in its body, in its head
			half++
		default:
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, sent, got)
			answered++
		}
	}
	fates := proxy.Fates()
	t.Log(fates)
	for _, fate := range all {
		require.Positive(t, fates[fate], "%s in %v", fate, fates)
	}
	require.Positive(t, answered)
	require.Positive(t, gateway)
	require.Positive(t, half, "the answer to a part of a request has come through")
	require.Positive(t, failed)
	require.Positive(t, served.part.Load(), "the server was left with a part of a request")
	require.Greater(t, served.whole.Load(), int64(answered), "the server has done work whose answer was lost")
	require.LessOrEqual(t, served.whole.Load()+served.part.Load(), int64(answered+half+failed), "nothing arrives twice")
}

// A server that is away is a bad gateway.
func TestNoServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.Listener.Addr().String()
	server.Close()
	proxy, err := faultproxy.Start(faultproxy.Config{Servers: []string{address}, Hold: time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range 50 {
		if status, _, err := post(client, proxy.URL(), []byte("hello")); err == nil {
			require.Equal(t, http.StatusBadGateway, status)
		}
	}
	fates := slices.Sorted(maps.Keys(proxy.Fates()))
	require.NotContains(t, strings.Join(fates, ","), "cut")
}

// post is one try: what is read of the answer is all of it, or there is an error.
func post(client *http.Client, url string, body []byte) (int, []byte, error) {
	res, err := client.Post(url, "text/plain", io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return res.StatusCode, got, err
}
