package claude

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/agent/spec"
)

type nobody struct{}

func (nobody) Emit(string, map[string]any)   {}
func (nobody) Flush(_ context.Context) error { return nil }

func newTestRecorder() *recorder {
	r := newRecorder(context.Background(), agent.Env{Report: nobody{}, Doing: &reporter.Activity{}}, &place{})
	r.changes = func(int) ([]diff.Change, int, []string) { return nil, 0, nil }
	r.begin()
	return r
}

// A trouble that was overcome is not the reason of a later end.
func TestATroubleThatIsOverIsForgotten(t *testing.T) {
	t.Parallel()
	r := newTestRecorder()
	r.take(parse([]byte(`{"type":"system","subtype":"api_retry","error":"rate_limit"}`)))
	_, cause := r.trouble()
	require.Equal(t, "rate_limit", cause)
	r.take(parse([]byte(`{"type":"assistant","message":{"id":"m","model":"m","content":[]}}`)))
	_, cause = r.trouble()
	require.Empty(t, cause)
}

// A call that was interrupted is answered by nothing: no heartbeat names it afterwards. One of a
// sub-agent in the background may still be.
func TestCallsEndWithTheirTurn(t *testing.T) {
	t.Parallel()
	r := newTestRecorder()
	call := func(parent, id string) {
		r.take(parse([]byte(`{"type":"assistant","parent_tool_use_id":"` + parent + `","message":{"id":"m` + parent + `","model":"m","content":[{"type":"tool_use","id":"` + id + `","name":"Bash"}]}}`)))
	}
	call("", "own")
	r.take(parse([]byte(`{"type":"system","subtype":"task_started","task_id":"b"}`)))
	call("sub", "below")
	r.take(parse([]byte(`{"type":"result","subtype":"error_during_execution"}`)))
	require.NotContains(t, r.tools, "own")
	require.Contains(t, r.tools, "below")
	r.broken()
	require.Empty(t, r.tools)
}

// An agent that is started again knows that its session has begun, and says so to the model.
func TestARestartKnowsItsSession(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := agent.Env{SessionID: "s", Config: spec.Config{Dir: dir, Workspace: dir, Description: "the task"}}
	p, err := openPlace(env)
	require.NoError(t, err)
	require.NotContains(t, firstPrompt(env, p), "cut off")
	path := transcriptPath(env, p.SessionID)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("{}\n"), 0o600))
	p, err = openPlace(env)
	require.NoError(t, err)
	require.Contains(t, firstPrompt(env, p), "cut off")
}
