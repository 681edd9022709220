package client_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestWithin_SendsRequestsToTheHandler(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	api := client.Within(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "Bearer secret", r.Header.Get("Authorization"))
		switch r.URL.Path {
		case "/api/v1/info":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"version":"1"}`)
		case "/api/v1/tasks/missing":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"code":"not_found","detail":"There is no task."}`)
		case "/api/v1/tasks/broken":
			panic(http.ErrAbortHandler)
		case "/api/v1/tasks/endless/diff":
			defer close(ended)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("+", 1000)); err != nil {
					return
				}
			}
		}
	}), "secret")
	info, err := api.Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, "1", info.Version)
	_, err = api.Task(t.Context(), "missing")
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
	_, err = api.Task(t.Context(), "broken")
	require.Error(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	err = api.Diff(ctx, "endless", writer(func(p []byte) (int, error) {
		cancel()
		return len(p), nil
	}))
	require.Error(t, err)
	<-ended
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
