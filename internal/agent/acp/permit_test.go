//nolint:paralleltest // a process has one runner of commands
package acp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// TestContract_RefusesCalls checks that each agent that asks gets a refusal for what the contract forbids, and the reason.
func TestContract_RefusesCalls(t *testing.T) {
	for name, refused := range map[string]int{"gemini": 3, "opencode": 3, "copilot": 3, "qwen": 1} { // qwen was recorded in a mode in which it asks less
		t.Run(name, func(t *testing.T) {
			b := newBench(t, name, "basic", "")
			b.cfg.Accepted = json.RawMessage(`{"forbidden_commands": ["git commit"], "forbidden_paths": ["binomial.py"]}`)
			require.Zero(t, b.run(), b)
			heard, calls := b.heard("1"), b.server.Of("agent.tool_refused")
			require.Len(t, calls, refused)
			require.Equal(t, refused, strings.Count(heard, `"optionId":"cancel"`)+strings.Count(heard, `"optionId":"reject`))
			last := calls[refused-1].Data
			require.Equal(t, []any{"contract", true}, []any{last["rule"], last["can_be_allowed"]})
			require.Contains(t, last["command"], "git commit -qm 'Add binomial'")
			require.Contains(t, heard, "The task contract says: Do not run these commands: `git commit`.")
			if refused > 1 {
				require.Equal(t, filepath.Join(b.cfg.Workspace, "binomial.py"), calls[0].Data["file_path"])
				require.Contains(t, heard, "Do not change these paths: `binomial.py`.")
			}
			for _, c := range calls {
				require.Contains(t, b.of("agent.tool_use", "tool_use_id"), c.Data["tool_use_id"])
			}
			require.Empty(t, b.server.Of("agent.tool_unchecked"))
			require.Empty(t, b.server.Of("agent.message_dropped"))
		})
	}
}

// of returns a field of all events of a type.
func (b *bench) of(eventType, field string) (all []any) {
	for _, e := range b.server.Of(eventType) {
		all = append(all, e.Data[field])
	}
	return all
}

// TestContract_OfAnAgentThatDoesNotAsk checks that the events say that the contract refuses no call.
func TestContract_OfAnAgentThatDoesNotAsk(t *testing.T) {
	for contract, says := range map[string]bool{`{"forbidden_commands": ["git commit"]}`: true, `{"test_command": "make"}`: false} {
		b := newBench(t, "codex", "basic", "")
		b.cfg.Accepted = json.RawMessage(contract)
		require.Zero(t, b.run(), b)
		require.Equal(t, says, len(b.server.Of("agent.tool_unchecked")) == 1, contract)
	}
}

// asks is an agent that asks for the same call in two turns.
const asks = `ask() {
	echo '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"toolCall":{"toolCallId":"'$1'","kind":"execute","title":"x",
		"rawInput":{"command":"npm publish"}},"options":[{"optionId":"no","kind":"reject_once"},{"optionId":"yes","kind":"allow_once"}]}}' | tr -d '\n'
	echo; read -r said
	case "$said" in *'"optionId":"yes"'*) ended $1; text allowed;; *) text refused;; esac
}
ask 1; while [ ! -e "$` + fakeDir + `/go" ]; do sleep 0.01; done; result; hear; ask 2; result; hear`

// TestContract_ACallAllowedOnce checks that a user allows a refused call once.
func TestContract_ACallAllowedOnce(t *testing.T) {
	b := newBench(t, "copilot", "basic", "")
	b.cfg.Accepted = json.RawMessage(`{"forbidden_commands": ["npm publish"]}`)
	b.scripted(asks)
	wait := b.start()
	b.has("agent.tool_refused", 1)
	refusal, _ := b.one("agent.tool_refused")["refusal"].(string)
	b.server.Say(agenttest.Message{ID: "a", Type: "user_message", Content: "you may", Allows: refusal})
	b.has("agent.message_injected", 1)
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600))
	require.Zero(t, wait(), b)
	require.Equal(t, "allowed", b.one("agent.completed")["final_output"])
	require.Equal(t, refusal, b.one("agent.tool_allowed")["refusal"])
	require.Equal(t, []any{"refused", "allowed"}, b.of("agent.message", "content"))
}
