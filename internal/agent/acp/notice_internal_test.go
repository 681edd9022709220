package acp

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/task"
)

// played returns the end of a turn in which an agent sent updates and then ended the turn normally.
func played(t *testing.T, d Dialect, updates ...string) (failure *continuous.Failure, said string) {
	t.Helper()
	env := agent.Env{Report: &events{}, Doing: &reporter.Activity{}}
	env.Config.Dir = t.TempDir()
	r := newRecorder(t.Context(), env, d, &place{}, continuous.Limits{})
	defer r.log.Close()
	for _, u := range updates {
		r.take(&jsonrpc.Frame{Method: "session/update", Params: fmt.Appendf(nil, `{"update":%s}`, u)})
	}
	end := &turn{result: &answer{Stop: "end_turn"}}
	r.settle(end.result, false)
	return (&talk{Runtime: Runtime{Dialect: d}, rec: r, end: end}).Failure(), r.now().said
}

// TestNotice_AfterAToolCallIsNoFailure checks that a text that looks like one of the program's own fails a turn only if
// the turn has no tool call, and is what the agent said otherwise.
func TestNotice_AfterAToolCallIsNoFailure(t *testing.T) {
	t.Parallel()
	const call = `{"sessionUpdate":"tool_call","toolCallId":"1","title":"curl","status":"completed"}`
	for _, text := range []string{"Error: 401 is what the API returns now", "Info: the tests pass", "Warning: one test is slow"} {
		last := fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}`, text)
		failure, said := played(t, dialects["copilot"], call, last)
		require.Nil(t, failure, text)
		require.Equal(t, text, said)
	}
	failure, _ := played(t, dialects["copilot"], `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Error: 401"}}`)
	require.Equal(t, task.ClassCredentials, failure.Class)
}
