package agent_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/task"
)

// giving returns an agent whose API answers the n-th verdict with answer.
func giving(t *testing.T, answer func(n int64, w http.ResponseWriter, said map[string]any)) agent.Env {
	t.Helper()
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var said map[string]any
		if r.URL.Path != "/api/v1/sandboxes/box/validation-result" || json.Unmarshal(body, &said) != nil {
			http.NotFound(w, r)
			return
		}
		answer(n.Add(1), w, said)
	}))
	t.Cleanup(server.Close)
	line, err := apiclient.New(apiclient.Config{APIURL: server.URL, SandboxID: "box"})
	require.NoError(t, err)
	t.Cleanup(line.Close)
	return agent.Env{Config: agentconfig.Config{TaskID: "task-1"}, Line: line}
}

func TestGive_RepeatsUntilAnswered(t *testing.T) {
	t.Parallel()
	var last map[string]any
	env := giving(t, func(n int64, w http.ResponseWriter, said map[string]any) {
		last = said
		switch n {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			panic(http.ErrAbortHandler) // the API stored the verdict, and the answer is lost
		}
	})
	printed := map[string]any{"output": "ELF\x00", "code": 1}
	require.NoError(t, env.Give(t.Context(), agent.Verdict{Passed: false, Feedback: "add\x00tests", Recommendations: []string{"one\x00"}, Evidence: printed}))
	require.Equal(t, map[string]any{
		"task_id": "task-1", "passed": false, "feedback": "add\uFFFDtests", "recommendations": []any{"one\uFFFD"},
		"evidence": map[string]any{"output": "ELF\uFFFD", "code": 1.0},
	}, last, "with nothing that no database takes")
	require.Equal(t, "ELF\x00", printed["output"])
}

func TestGive_Refused(t *testing.T) {
	t.Parallel()
	env := giving(t, func(_ int64, w http.ResponseWriter, _ map[string]any) { w.WriteHeader(http.StatusForbidden) })
	require.Equal(t, task.CodeForbidden, task.CodeOf(env.Give(t.Context(), agent.Verdict{Passed: true})))
}
