package claude

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/agent/stdio"
)

type nobody struct{}

func (nobody) Emit(string, map[string]any) {}

func newTestRecorder() *recorder {
	r := newRecorder(context.Background(), agent.Env{Report: nobody{}, Doing: &reporter.Activity{}}, &place{})
	r.begin()
	return r
}

// TestRecorder_ForgetsAnErrorThatIsOver checks that an error that was overcome is not the reason of a later end.
func TestRecorder_ForgetsAnErrorThatIsOver(t *testing.T) {
	t.Parallel()
	r := newTestRecorder()
	r.take(parse([]byte(`{"type":"system","subtype":"api_retry","error":"rate_limit"}`)))
	cause := r.now().cause
	require.Equal(t, "rate_limit", cause)
	r.take(parse([]byte(`{"type":"assistant","message":{"id":"m","model":"m","content":[]}}`)))
	cause = r.now().cause
	require.Empty(t, cause)
}

// TestRecorder_CallsEndWithTheirTurn checks that heartbeats do not name a call of an interrupted turn. A call of a
// background sub-agent continues.
func TestRecorder_CallsEndWithTheirTurn(t *testing.T) {
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

// TestFirstPrompt_AfterRestart checks that a restarted omoi-agent knows its session and tells the model.
func TestFirstPrompt_AfterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := agent.Env{SessionID: "s", Config: agentconfig.Config{Dir: dir, Workspace: dir, Description: "the task"}}
	p, err := openPlace(env)
	require.NoError(t, err)
	require.NotContains(t, FirstPrompt(env, p.Begun), "cut off")
	path := transcriptPath(env, p.SessionID)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("{}\n"), 0o600))
	p, err = openPlace(env)
	require.NoError(t, err)
	require.Contains(t, FirstPrompt(env, p.Begun), "cut off")
}

// TestOpenPlace_Unreadable checks that a state file of an older version is used completely or not at all.
func TestOpenPlace_Unreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := agent.Env{SessionID: "s", Config: agentconfig.Config{Dir: dir, Workspace: dir}}
	old := `{"session_id":"old","turn":7,"files":3,"spent":{"cost_usd":2,"open":{"input_tokens":5}}}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, placeName), []byte(old), 0o600))
	got, err := openPlace(env)
	require.NoError(t, err)
	require.Equal(t, &place{SessionID: sessionID("s"), path: got.path}, got)
	path := transcriptPath(env, got.SessionID)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("{}\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, placeName), []byte(old), 0o600))
	got, err = openPlace(env)
	require.NoError(t, err)
	require.Equal(t, &place{SessionID: sessionID("s"), Begun: true, path: got.path}, got)
}

// TestLooks_GiveWay checks that an interrupt ends a comparison of a large work tree, and that the next one finds the
// missing changes.
func TestLooks_GiveWay(t *testing.T) {
	t.Parallel()
	r, begun, there := newTestRecorder(), make(chan struct{}), []diff.Change{{Path: "a"}}
	r.looks.prepare = func() (lookFunc, context.CancelFunc) {
		ctx, stop := context.WithCancel(t.Context())
		return func() ([]diff.Change, int, []string) {
			select {
			case <-begun:
				return there, len(there), nil
			default:
				close(begun)
				<-ctx.Done()
				return nil, 0, nil
			}
		}, stop
	}
	r.looks.hurry()
	r.looks.calm()
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		r.take(parse([]byte(`{"type":"result","subtype":"success","total_cost_usd":1}`)))
	}()
	<-begun
	require.InDelta(t, 1, r.now().cost, 0, "while it is looked")
	r.looks.hurry()
	<-taken
	r.caughtUp()
	require.Zero(t, r.now().Files, "no look while a reader waits")
	r.looks.calm()
	r.caughtUp()
	require.Equal(t, 1, r.now().Files)
	require.False(t, r.looks.behind())
}

// TestProgram_SendDoesNotBlock sends to a program that does not read.
func TestProgram_SendDoesNotBlock(t *testing.T) {
	t.Parallel()
	_, in, err := os.Pipe()
	require.NoError(t, err)
	m, long := stdio.NewWriter(in), make([]byte, 1<<20)
	require.NoError(t, m.Send(long))
	require.NoError(t, m.Send(long))
	m.Drop()
	require.ErrorContains(t, m.Send(long), "closed")
}
