package taskcmd_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
)

func TestProjectUpdate_AutoSteering(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var body string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/projects", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.Project]{Items: []client.Project{{ID: idA, Name: "app"}}})
	})
	mux.HandleFunc("PATCH /api/v1/projects/{id}", func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		f.locked(func() { body = string(raw) })
		answer(w, http.StatusOK, client.Project{ID: idA, Name: "app"})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	for said, sent := range map[string]string{"true": "true", "false": "false", "default": "null"} {
		got := f.omoi("project", "update", "app", "--auto-steering", said)
		require.Zero(t, got.code, got.err)
		require.JSONEq(t, `{"auto_steering": `+sent+`}`, body)
	}
	require.Zero(t, f.omoi("project", "update", "app", "--autonomous-execution").code)
	require.JSONEq(t, `{"autonomous_execution_enabled": true}`, body)
	require.Equal(t, exit.Usage, f.omoi("project", "update", "app", "--auto-steering", "perhaps").code)
}
