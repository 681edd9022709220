//nolint:paralleltest // a process has one runner of commands
package acp_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// speaks are the words of an agent in a shell. hear reads up to the next prompt or message to the turn.
const speaks = `#!/bin/bash
reply() { echo '{"jsonrpc":"2.0","id":'$id',"result":'"$1"'}'; }
refuse() { echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":'$1',"message":"'"$2"'"}}'; }
update() { echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'"$1"'}}'; }
text() { n=$((n+1)); update '{"sessionUpdate":"agent_message_chunk","messageId":"m'$n'","content":{"type":"text","text":"'"$1"'"}}'; }
call() { update '{"sessionUpdate":"tool_call","toolCallId":"'$1'","name":"Bash","kind":"execute","title":"x","status":"in_progress","rawInput":{"command":"x"}}'; }
ended() { update '{"sessionUpdate":"tool_call_update","toolCallId":"'$1'","status":"completed"}'; }
result() { id=${1:-$id}; reply '{"stopReason":"end_turn"}'; }
pull() {
	while :; do
		echo '{"jsonrpc":"2.0","id":"pull","method":"craft/drainMidTurnQueue","params":{}}'
		read -r said
		case "$said" in *'"messages":[]'*) sleep 0.01;; *) return;; esac
	done
}
hear() {
	while read -r said; do
		id=${said#'{"id":'}; id=${id%%,*}
		case "$said" in
		*'"method":"initialize"'*) reply '{"protocolVersion":1,"agentInfo":{"version":"99.0.0"},"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}},"_meta":{"steering":{"supported":true}}}';;
		*'"method":"session/new"'* | *'"method":"session/resume"'*) reply '{"sessionId":"s1"}';;
		*'"method":"session/set_mode"'*)
			mode=${said#*'"modeId":"'}
			update '{"sessionUpdate":"current_mode_update","currentModeId":"'"${mode%%'"'*}"'"}'
			reply '{}';;
		*'"method":"session/prompt"'* | *'"method":"_session/steering"'*) return;;
		esac
	done
	exit
}
hear
`

// scripted makes the agent a script, which begins after the first prompt.
func (b *bench) scripted(does string) {
	b.Helper()
	path := filepath.Join(b.dir, "scripted")
	require.NoError(b, os.WriteFile(path, []byte(speaks+does+"\n"), 0o755))
	b.cfg.Env[b.runtime.Dialect.Bin()] = path
}

// TestReceipt checks that a message counts as delivered only if something shows that the model has it, and that the
// receipt says how it got there.
func TestReceipt(t *testing.T) {
	const dropped = ""
	for name, c := range map[string]struct{ agent, does, how string }{
		"killed after it asked for messages": {"qwen", `pull; kill -9 $$`, dropped},
		"failed after it asked for messages": {"qwen", `first=$id; pull; id=$first; refuse -32603 "500 boom"`, dropped},
		"asked for messages":                 {"qwen", `first=$id; pull; ended 1; text yes; result $first`, "in the turn"},
		"killed after it took the message":   {"codex", `hear; reply '{"outcome":"injected"}'; kill -9 $$`, dropped},
		"took the message":                   {"codex", `first=$id; hear; reply '{"outcome":"injected"}'; ended 1; text yes; result $first`, "in the turn"},
		"refused the prompt":                 {"gemini", `ended 1; text one; result; hear; refuse -32000 "no login"`, dropped},
		"refused the second prompt":          {"opencode", `first=$id; hear; refuse -32603 no; ended 1; text one; result $first; hear; text two; result`, "as a prompt"},
		"joined the turn":                    {"opencode", `first=$id; hear; second=$id; ended 1; text one; result $first; result $second`, "in the turn"},
		"had ended the turn":                 {"opencode", `first=$id; hear; second=$id; ended 1; text one; result $first; text two; result $second`, "as a prompt"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.agent, "basic", "")
			b.scripted(`call 1; while [ ! -e "$` + fakeDir + `/go" ]; do sleep 0.01; done; ` + c.does + `; hear`)
			wait := b.start()
			b.has("agent.tool_use", 1)
			b.tell("a", "user_message", "use tabs")
			b.has("agent.message_injected", 1)
			require.NoError(t, os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600))
			code := wait()
			if c.how == dropped {
				require.Equal(t, 1, code, b)
				require.Empty(t, b.receipts(), b)
				require.Equal(t, "a", b.one("agent.message_dropped")["message_id"])
				return
			}
			require.Zero(t, code, b)
			require.Equal(t, []any{map[string]any{"message_id": "a", "delivered": c.how}}, b.receipts())
			require.Empty(t, b.server.Of("agent.message_dropped"))
		})
	}
}

// receipts returns what the events say about messages.
func (b *bench) receipts() (all []any) {
	for _, e := range b.server.Of("agent.system_message") {
		if e.Data["subtype"] == "message" {
			all = append(all, e.Data["metadata"])
		}
	}
	return all
}
