package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/acp"
	"github.com/omoi-dev/omoi/internal/task"
)

// fakeACP is a program that speaks the Agent Client Protocol and runs a test's script after its first prompt. hear reads
// up to the next prompt or message, and ends the program at the end of its input.
const fakeACP = `#!/bin/bash
reply() { echo '{"jsonrpc":"2.0","id":'$id',"result":'"$1"'}'; }
update() { echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'"$1"'}}'; }
text() { n=$((n+1)); update '{"sessionUpdate":"agent_message_chunk","messageId":"m'$n'","content":{"type":"text","text":"'"$1"'"}}'; }
costs() { update '{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":'$1',"currency":"USD"}}'; }
call() { update '{"sessionUpdate":"tool_call","toolCallId":"'$1'","name":"Bash","kind":"execute","title":"x","status":"in_progress","rawInput":{"command":"x"}}'; }
answer() { update '{"sessionUpdate":"tool_call_update","toolCallId":"'$1'","status":"completed","content":[{"type":"content","content":{"type":"text","text":"ok"}}]}'; }
result() { text "$1"; id=$prompt; reply '{"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":1}}'; }
fails() { echo '{"jsonrpc":"2.0","id":'$prompt',"error":{"code":-32603,"message":"'"$1"'"}}'; }
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
		*'"method":"_session/steering"'*) reply '{"outcome":"injected"}'; return;;
		*'"method":"session/prompt"'*) prompt=$id; return;;
		esac
	done
	exit
}
hear
`

// fakeACPBox returns a sandbox whose agent is fakeACP.
func fakeACPBox(t *testing.T, name, does string) *box {
	t.Helper()
	b := newBox(t, "")
	dialect, ok := acp.Of(name)
	require.True(t, ok, name)
	path := filepath.Join(t.TempDir(), dialect.Program)
	require.NoError(t, os.WriteFile(path, []byte(fakeACP+does+"\n"), 0o755))
	b.cfg.Runtime, b.cfg.Env = name, map[string]string{
		dialect.Bin(): path, strings.ToUpper(task.RuntimeOf(name).Credential) + "_API_KEY": "planted-model-key", "MODEL": "m", wantsNoCommit: "false", "HOME": t.TempDir(),
	}
	return b
}
