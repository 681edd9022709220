package supervise_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// Any events are read and analyzed, and a verdict refers to existing events.
func TestHostileEvents(t *testing.T) {
	t.Parallel()
	kinds := []string{
		event.AgentToolUse, event.AgentToolCompleted, "agent.tool_result", event.AgentFileEdited, "agent.message", event.AgentCompleted,
		event.AgentHeartbeat, event.AgentMessageInjected, "agent.assistant_message", event.AgentWaiting, "made.up",
	}
	values := []string{
		`null`, `7`, `-1e300`, `"x"`, `""`, `true`, `[]`, `{}`, `{"command":"go test ./..."}`, `"@@ -1 +1 @@\n-func TestA(\n+"`, `"a_test.go"`, `"Bash"`,
		`"call-1"`, `"call-2"`, `"FAILED x"`, `"deleted"`, `"user"`,
	}
	names := []string{
		"tool", "tool_use_id", "input", "result", "is_error", "tool_response", "content", "error", "file_path", "change_type", "full_diff",
		"diff_preview", "total_cost_usd", "status", "current_tool", "tool_age_ms", "success", "sender_kind",
	}
	now := start()
	rapid.Check(t, func(t *rapid.T) {
		var rows []event.Event
		for i := range rapid.IntRange(0, 40).Draw(t, "events") {
			data := map[string]json.RawMessage{}
			for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 6).Draw(t, "fields") {
				data[name] = json.RawMessage(rapid.SampledFrom(values).Draw(t, "value"))
			}
			raw, err := json.Marshal(data)
			require.NoError(t, err)
			rows = append(rows, event.Event{
				Sequence: int64(i + 1), Type: rapid.SampledFrom(kinds).Draw(t, "kind"), Data: raw,
				CreatedAt: now.Add(-time.Duration(rapid.IntRange(-5, 5000).Draw(t, "age")) * time.Second),
			})
		}
		s := supervise.Subject{Title: "x", Contract: taskcontract.InForce{Accepted: taskcontract.Contract{AllowedPaths: []string{"src"}, ForbiddenCommands: []string{"go test"}}}}
		s.Read(rows, now)
		a := supervise.Rules(s, supervise.DefaultSettings())
		require.NotEqual(t, supervise.Healthy, a.Verdict)
		require.Equal(t, a.Verdict == supervise.Steer, a.NeedsSteering)
		for _, n := range a.Evidence {
			require.True(t, n >= 1 && n <= int64(len(rows)), n)
		}
		supervise.Output(s, 10)
	})
}
