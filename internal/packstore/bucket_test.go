package packstore_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/packstore"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/testkit/objects"
)

// objectServer starts an object store, and sets its credentials.
func objectServer(t *testing.T) (endpoint string) {
	t.Helper()
	for name, value := range objects.Environ() {
		t.Setenv(name, value)
	}
	return objects.Start(t)
}

func TestBucket(t *testing.T) { //nolint:paralleltest // credentials are in the environment
	endpoint := objectServer(t)
	keepsPacks(t, open(t, "s3://packs/of/omoi?region=us-east-1&endpoint="+endpoint))
	keepsPacks(t, open(t, "s3://packs?endpoint="+endpoint))
	err := packstore.Check(t.Context(), open(t, "s3://nowhere?region=us-east-1&endpoint="+endpoint))
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
	require.ErrorContains(t, err, "omoi doctor")
}

// A server that fails, hangs, or cuts its answers never gives wrong bytes, and works again afterwards.
func TestBucket_FaultsOfTheServer(t *testing.T) { //nolint:paralleltest // as above
	target, err := url.Parse(objectServer(t))
	require.NoError(t, err)
	var fault atomic.Value
	fault.Store("")
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // is signed
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch fault.Load() {
		case "refuse":
			http.Error(w, "down", http.StatusServiceUnavailable)
		case "hang":
			<-r.Context().Done()
		case "cut":
			w.Header().Set("Content-Length", "10")
			_, _ = w.Write([]byte("012"))
			panic(http.ErrAbortHandler)
		default:
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(proxy.Close)
	s := open(t, "s3://packs?region=us-east-1&endpoint="+proxy.URL)
	require.NoError(t, s.Put(t.Context(), "k", 10, onlyReader{strings.NewReader("0123456789")}))
	for _, one := range []string{"refuse", "hang", "cut"} {
		fault.Store(one)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := s.Read(ctx, "k", 0, 10)
		require.Equal(t, task.CodeUnavailable, task.CodeOf(err), "%s: %v", one, err)
		if one != "cut" {
			require.Equal(t, task.CodeUnavailable, task.CodeOf(s.Put(ctx, "k2", 3, onlyReader{strings.NewReader("abc")})), one)
			require.Equal(t, task.CodeUnavailable, task.CodeOf(s.Delete(ctx, "k")), one)
		}
		cancel()
	}
	fault.Store("")
	got, err := s.Read(t.Context(), "k", 0, 10)
	require.NoError(t, err)
	require.Equal(t, "0123456789", string(got))
	_, err = s.Read(t.Context(), "k2", 0, 10)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}
