package acp

import (
	"log/slog"
	"strings"
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

// TestTake_ReportsEachUnreadableLine checks that the number of lines without an event of their own is reported once.
func TestTake_ReportsEachUnreadableLine(t *testing.T) {
	t.Parallel()
	r, report := newTestRecorder(t)
	for range mostUnread + 6 {
		r.take(&jsonrpc.Frame{Raw: []byte("{cut")})
	}
	r.settle(nil, true)
	r.settle(nil, true)
	all := strings.Join(report.all, "\n")
	require.Equal(t, mostUnread, strings.Count(all, `"subtype":"omoi_line_unread"`))
	require.Equal(t, 1, strings.Count(all, `"metadata":{"count":6},"subtype":"omoi_lines_unread"`), all)
	require.Equal(t, 1, strings.Count(all, `"subtype":"omoi_lines_unread"`), all)
}

// TestTake_EndOfAnUnknownCall checks that a call whose start was damaged has events of its own, once.
func TestTake_EndOfAnUnknownCall(t *testing.T) {
	t.Parallel()
	r, report := newTestRecorder(t)
	r.changes.hurry() // there is no work tree
	for range 2 {
		r.take(jsonrpc.Parse([]byte(`{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}}}`)))
	}
	var kinds []string
	for _, e := range report.all {
		kind, _, _ := strings.Cut(e, " ")
		kinds = append(kinds, kind)
	}
	require.Equal(t, []string{"agent.tool_use", "agent.tool_completed", "agent.tool_result"}, kinds)
}
