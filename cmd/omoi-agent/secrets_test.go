package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	boxToken  = "v1.pfqqh2km.sMf_trL-0123456789abcdefghijklmnopqrstuvwxyz"
	boxSecret = "planted \"secret\" of the environment"
)

// TestSecrets_InOutput checks that an agent that prints its whole environment reveals neither its token nor its
// secrets, neither plain nor escaped.
func TestSecrets_InOutput(t *testing.T) {
	t.Parallel()
	show := func(b *box) string {
		return fmt.Sprintf("env; cat %s/agent.json; echo; echo token $SHORT", b.cfg.Dir)
	}
	for _, runtime := range []string{"scripted", "command"} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, "")
			b.cfg.Runtime, b.cfg.Token = runtime, boxToken
			b.cfg.Env = map[string]string{
				"MY_SECRET": boxSecret, "CALLBACK_URL": b.server.URL + "/t/" + boxToken, "MODE": "production", "SHORT": "yes", wantsNoCommit: "false",
			}
			text, err := json.Marshal(map[string]any{"steps": []any{map[string]string{"bash": show(b)}, map[string]any{"write": map[string]string{"path": "a", "content": "in " + boxToken}}}})
			require.NoError(t, err)
			b.cfg.Script, b.cfg.Command = text, []string{"sh", "-c", show(b)}
			b.cfg.Setup = "echo " + boxToken
			require.Zero(t, b.run())
			events, err := json.Marshal(b.server.Events())
			require.NoError(t, err)
			require.NotContains(t, string(events), "sMf_trL")
			require.NotContains(t, string(events), "planted")
			require.Contains(t, string(events), "[redacted]")
			require.Contains(t, string(events), "token yes")
			require.Contains(t, string(events), "production", "what is no secret stays")
		})
	}
}

// TestSecrets_InRefusal checks a refused call with secrets: its event reveals none, and no file keeps the call.
func TestSecrets_InRefusal(t *testing.T) {
	t.Parallel()
	b := newBox(t, "")
	b.cfg.Runtime, b.cfg.Token, b.cfg.Accepted = "command", boxToken, []byte(`{"forbidden_commands": ["npm publish"]}`)
	b.cfg.Env = map[string]string{"MY_SECRET": boxSecret, wantsNoCommit: "false"}
	call, err := json.Marshal(map[string]any{"tool_name": "Bash", "tool_input": map[string]string{"command": "npm publish " + boxToken + " " + boxSecret}})
	require.NoError(t, err)
	b.cfg.Command = []string{"sh", "-c", "printf '%s' '" + string(call) + `' | sh -c "$OMOI_HOOK"; test $? = 2`}
	require.Zero(t, b.run())
	require.Contains(t, b.one("agent.tool_refused")["command"], "npm publish [redacted]")
	events, err := json.Marshal(b.server.Events())
	require.NoError(t, err)
	require.NotContains(t, string(events), "sMf_trL")
	require.NotContains(t, string(events), "planted")
	left, err := os.ReadDir(filepath.Join(b.cfg.Dir, "hook", "reports"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestSecrets_InNotes checks the notes of collect, which are logged.
func TestSecrets_InNotes(t *testing.T) {
	t.Parallel()
	b := newBox(t, "")
	b.cfg.Token, b.cfg.Workspace = boxToken, filepath.Join(t.TempDir(), boxToken)
	text, err := json.Marshal(b.cfg)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "agent.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	cmd := b.command("collect", "--config", path)
	var said strings.Builder
	cmd.Stderr = &said
	require.Error(t, cmd.Run())
	require.Contains(t, said.String(), "[redacted]")
	require.NotContains(t, said.String(), "sMf_trL")
}
