package model_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

const work = `{"model":"m","stream":true,"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"42\n"}]}]}`

func ask(t *testing.T, s *modeltest.Server, body string) (status int, text string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		s.URL+"/v1/messages?beta=true", strings.NewReader(body))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	return res.StatusCode, string(raw), err
}

func TestTurnsAreStreamed(t *testing.T) {
	t.Parallel()
	s := modeltest.New(t, modeltest.Turn{
		Thinking: "Hm.", Text: "It is {{last_tool_result}}.",
		Tools:  []modeltest.Tool{{Name: "Bash", Input: map[string]any{"command": "true"}}},
		Expect: modeltest.Saying("42"),
	})
	status, text, err := ask(t, s, work)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	for _, want := range []string{"event: message_start", `"text":"It is"`, `"text":" 42."`, "thinking_delta", "input_json_delta", `"stop_reason":"tool_use"`, "event: message_stop"} {
		require.Contains(t, text, want)
	}
	require.Len(t, s.Requests(), 1)
	require.True(t, s.Requests()[0].Offers("Bash"))
}

// What is asked without tools, a probe or a title, spends no turn.
func TestSideRequestsSpendNoTurn(t *testing.T) {
	t.Parallel()
	s := modeltest.New(t, modeltest.Turn{Text: "Hello."})
	_, text, err := ask(t, s, `{"messages":[{"role":"user","content":"Hi"}]}`)
	require.NoError(t, err)
	require.Contains(t, text, `"text":"ok"`)
	_, text, err = ask(t, s, strings.Replace(work, "true", "false", 1))
	require.NoError(t, err)
	require.Contains(t, text, `"text":"Hello."`, "without a stream it is one document")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := modeltest.New(
		t, modeltest.Turn{Status: 529}, modeltest.Turn{Cut: modeltest.CutBefore},
		modeltest.Turn{Text: "half of it", Cut: modeltest.CutReset},
		modeltest.Turn{Text: "half of it", Cut: modeltest.CutEvent},
	)
	status, text, err := ask(t, s, work)
	require.NoError(t, err)
	require.Equal(t, 529, status)
	require.Contains(t, text, "overloaded_error")
	_, _, err = ask(t, s, work)
	require.Error(t, err)
	_, text, err = ask(t, s, work)
	require.Error(t, err)
	require.NotContains(t, text, "message_stop")
	_, text, _ = ask(t, s, work)
	require.Contains(t, text, "event: error")
}

func TestAHeldTurnWaits(t *testing.T) {
	t.Parallel()
	hold, begun, answered := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	s := modeltest.New(t, modeltest.Turn{Text: "Now.", Hold: hold, Begun: begun})
	go func() {
		_, text, err := ask(t, s, work)
		if err == nil && !strings.Contains(text, "Now.") {
			err = errors.New(text)
		}
		answered <- err
	}()
	<-begun
	require.Empty(t, answered)
	close(hold)
	require.NoError(t, <-answered)
}
