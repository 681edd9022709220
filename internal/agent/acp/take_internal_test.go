package acp

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

// newTestRecorder returns a recorder without a program, and its events.
func newTestRecorder(t *testing.T) (*recorder, *events) {
	t.Helper()
	report := &events{}
	env := agent.Env{Report: report, Doing: &reporter.Activity{}, Log: slog.New(slog.DiscardHandler)}
	env.Config.Dir = t.TempDir()
	r := newRecorder(t.Context(), env, Dialect{}, &place{}, continuous.Limits{})
	t.Cleanup(r.log.Close)
	return r, report
}

// TestTake_OnlyWorkEndsASilence checks that an agent which repeats a request, and says only that, counts as silent.
func TestTake_OnlyWorkEndsASilence(t *testing.T) {
	t.Parallel()
	for line, works := range map[string]bool{
		`{"method":"qwen/notify/retry","params":{}}`:                                              false,
		`{"method":"session/update","params":{"update":{"sessionUpdate":"session_info_update"}}}`: false,
		`{"method":"session/update","params":{"update":{"sessionUpdate":"unknown"}}}`:             false,
		`no message`: false,
		`{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"text":"a"}}}}`: true,
		`{"method":"session/update","params":{"update":{"sessionUpdate":"agent_thought_chunk","content":{"text":"a"}}}}`: true,
		`{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"1"}}}`:                 true,
		`{"method":"session/update","params":{"update":{"sessionUpdate":"usage_update"}}}`:                               true,
	} {
		r, _ := newTestRecorder(t)
		r.last = -1
		f := jsonrpc.Parse([]byte(line))
		if f == nil {
			f = &jsonrpc.Frame{Raw: []byte(line)}
		}
		r.take(f)
		require.Equal(t, works, r.last >= 0, line)
	}
}
