package client_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// serve responds to every request with status and body, and records the last request.
func serve(t *testing.T, status int, body string) (*client.Client, func() *http.Request) {
	t.Helper()
	requests := make(chan *http.Request, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(content)))
		requests <- r
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return client.New(server.URL+"/", "sk_live_x"), func() *http.Request { return <-requests }
}

func TestErrors_KeepTheirCode(t *testing.T) {
	t.Parallel()
	for _, code := range []task.Code{
		task.CodeInvalid, task.CodeUnauthorized, task.CodeForbidden, task.CodeNotFound, task.CodeConflict,
		task.CodeGone, task.CodeExhausted, task.CodeUnavailable, task.CodeInternal,
	} {
		require.Equal(t, code, client.CodeOf(client.StatusOf(code)))
	}
	require.Equal(t, http.StatusInternalServerError, client.StatusOf("something else"))
	require.Equal(t, task.CodeInternal, client.CodeOf(http.StatusTeapot))
}

func TestProblem_DecodesCodeAndField(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, 422,
		`{"title":"x","status":422,"detail":"The title is empty.","code":"invalid","errors":[{"location":"body.title"}]}`)
	_, _, err := c.CreateTask(t.Context(), client.CreateTaskRequest{}, "")
	e, ok := err.(*task.Error) //nolint:errorlint // the very type is promised
	require.True(t, ok)
	require.Equal(t, []string{"invalid", "The title is empty.", "title"}, []string{string(e.Code), e.Message, e.Field})

	c, _ = serve(t, http.StatusBadGateway, "<html>")
	_, err = c.Task(t.Context(), "x")
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
}

func TestRequest_HasKeyBodyAndQuery(t *testing.T) {
	t.Parallel()
	c, last := serve(t, http.StatusCreated, `{"id":"t1"}`)
	made, isNew, err := c.CreateTask(t.Context(), client.CreateTaskRequest{Repo: "a/b", Title: "x"}, "key")
	require.NoError(t, err)
	require.True(t, isNew)
	require.Equal(t, "t1", made.ID)
	r := last()
	require.Equal(t, []string{"POST", "/api/v1/tasks", "Bearer sk_live_x", "key", "application/json"},
		[]string{r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type")})
	var body map[string]any
	require.NoError(t, json.NewDecoder(r.Body).Decode(&body))
	require.Equal(t, map[string]any{"repo": "a/b", "title": "x"}, body, "what is not given is not sent")

	_, err = c.Events(t.Context(), "a/b", "1:2", 25*time.Second)
	require.NoError(t, err)
	r = last()
	require.Equal(t, "/api/v1/tasks/a%2Fb/events", r.URL.EscapedPath())
	require.Equal(t, "cursor=1%3A2&wait=25s", r.URL.RawQuery)
}

func TestCancel_StatusAcceptedIsNotSettled(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, http.StatusAccepted, `{"command":{"id":"c1"}}`)
	asked, settled, err := c.Cancel(t.Context(), "t1", "why")
	require.NoError(t, err)
	require.False(t, settled)
	require.Equal(t, "c1", asked.Command.ID)
}

func TestReady_NotReadyIsNoError(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, http.StatusServiceUnavailable, `{"ready":false,"dependencies":[{"name":"temporal","state":"down"}]}`)
	ready, err := c.Ready(t.Context())
	require.NoError(t, err)
	require.False(t, ready.Ready)
	require.Equal(t, "temporal", ready.Dependencies[0].Name)
}

func TestUnreachable_ErrorHasTheNextStep(t *testing.T) {
	t.Parallel()
	c := client.New("http://127.0.0.1:1", "")
	_, err := c.Info(t.Context())
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
	require.Contains(t, task.MessageOf(err), "omoi dev")
	require.True(t, task.NotSent(err))
	cut := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(cut.Close)
	_, err = client.New(cut.URL, "").Info(t.Context())
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
	require.False(t, task.NotSent(err), "it arrived, and its answer was lost")
	_, err = c.Ready(t.Context())
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Info(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
