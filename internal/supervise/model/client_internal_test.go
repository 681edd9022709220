package model

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// endpoint returns a model whose endpoint is handler, and the number of requests.
func endpoint(t *testing.T, handler http.HandlerFunc) (*Model, *atomic.Int32) {
	t.Helper()
	var count atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	s := Defaults()
	s.APIKey, s.BaseURL, s.Model = "key", server.URL+"/gateway/", "judge-1"
	m, err := New(s)
	require.NoError(t, err)
	return m, &count
}

func TestSend_RefusesRedirects(t *testing.T) {
	t.Parallel()
	other, taken := endpoint(t, func(http.ResponseWriter, *http.Request) {})
	m, count := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.settings.BaseURL, http.StatusTemporaryRedirect)
	})
	_, err := m.send(t.Context(), request{})
	require.Equal(t, statusError(http.StatusTemporaryRedirect), err)
	require.Equal(t, int32(1), count.Load())
	require.Zero(t, taken.Load(), "the key stays at the endpoint")
}

func TestSend_DoesNotRepeatMalformedReply(t *testing.T) {
	t.Parallel()
	m, count := endpoint(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
	_, err := m.send(t.Context(), request{})
	require.ErrorIs(t, err, errMalformed)
	require.Equal(t, int32(1), count.Load())
}

func TestSend_RepeatsBrokenConnection(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	m, count := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		if broken.CompareAndSwap(false, true) {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `{"model":"`+r.URL.Path+`"}`)
	})
	answer, err := m.send(t.Context(), request{})
	require.NoError(t, err)
	require.Equal(t, "/gateway/v1/messages", answer.Model)
	require.Equal(t, int32(2), count.Load())
}

func TestRepeatable(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{400: false, 401: false, 404: false, 408: true, 409: true, 429: true, 500: true, 529: true} {
		require.Equal(t, want, repeatable(statusError(status), nil), status)
	}
	require.False(t, repeatable(statusError(529), http.Header{"X-Should-Retry": {"false"}}))
	require.True(t, repeatable(statusError(400), http.Header{"X-Should-Retry": {"true"}}))
}

func TestDelay(t *testing.T) {
	t.Parallel()
	require.Equal(t, 20*time.Millisecond, delay(http.Header{"Retry-After-Ms": {"20"}, "Retry-After": {"9"}}, 0))
	require.Equal(t, 9*time.Second, delay(http.Header{"Retry-After": {"9"}}, 0))
	at := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	require.Greater(t, delay(http.Header{"Retry-After": {at}}, 0), 59*time.Minute)
	for tried, longest := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, longestWait, longestWait} {
		require.Greater(t, delay(nil, tried), longest/2)
		require.LessOrEqual(t, delay(nil, tried), longest)
	}
}
