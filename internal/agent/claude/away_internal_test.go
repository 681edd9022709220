package claude

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
)

// noted stores emitted events by type.
type noted map[string][]map[string]any

func (n noted) Emit(eventType string, data map[string]any) { n[eventType] = append(n[eventType], data) }

// TestSubagent_InBackground checks that a background sub-agent is reported as complete at its end, not at its start.
func TestSubagent_InBackground(t *testing.T) {
	t.Parallel()
	said := noted{}
	r := newRecorder(context.Background(), agent.Env{Report: said, Doing: &reporter.Activity{}}, &place{})
	r.begin()
	r.take(parse([]byte(`{"type":"assistant","message":{"id":"m","model":"m","content":[{"type":"tool_use","id":"t","name":"Task","input":{"description":"look","subagent_type":"general-purpose","run_in_background":true}}]}}`)))
	r.take(parse([]byte(`{"type":"system","subtype":"task_started","task_id":"b","tool_use_id":"t"}`)))
	r.take(parse([]byte(`{"type":"user","tool_use_result":{"isAsync":true,"status":"async_launched","agentId":"b"},"message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"launched"}]}}`)))
	require.Empty(t, said["agent.subagent_completed"])
	require.Len(t, said["agent.tool_result"], 1)
	r.take(parse([]byte(`{"type":"system","subtype":"task_notification","task_id":"b","tool_use_id":"t","status":"completed","summary":"All looked at.","usage":{"total_tokens":7}}`)))
	require.Len(t, said["agent.subagent_completed"], 1)
	done := said["agent.subagent_completed"][0]
	require.Equal(t, []any{"t", "All looked at.", "completed", "general-purpose"}, []any{done["tool_use_id"], done["subagent_result"], done["subagent_status"], done["subagent_type"]})
	r.take(parse([]byte(`{"type":"system","subtype":"task_notification","task_id":"b","tool_use_id":"t"}`)))
	require.Len(t, said["agent.subagent_completed"], 1, "once")
}
