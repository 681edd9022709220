package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// The worker reports the program, the API adds the credential.
func TestDefaultAgent_ByProgramOfTheWorkerAndStoredCredential(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "omoi-agents-") //nolint:usetesting // sandboxes must be able to enter it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	program := filepath.Join(dir, "claude")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho 2.1.328\n"), 0o755))
	r := newRig(t, map[string]string{"OMOI_CLAUDE_BIN": program, "ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": ""}).up()
	repo := r.repo()
	r.eventually("the worker reports the program", func() bool {
		hosts, err := r.api.Hosts(t.Context())
		return err == nil && len(hosts) == 1 && slices.Contains(hosts[0].Agents, task.AgentClaude)
	})

	refused := r.omoi("run", "x", "--repo", repo)
	require.Equal(t, 4, refused.code)
	require.Contains(t, refused.stderr, "Next: omoi credentials set anthropic")
	require.NotContains(t, refused.stderr, "npm install", "the program is there")
	require.Contains(t, r.omoi("doctor").stdout, "version 2.1.328, readable by sandboxes; no credential")

	_, err = r.api.SetCredential(t.Context(), "anthropic", apiclient.SetCredentialRequest{Secret: "sk-ant-api03-0123456789"})
	require.NoError(t, err)
	info, err := r.api.Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, task.AgentClaude, info.DefaultAgent)
	require.Contains(t, r.omoi("doctor").stdout, "credential: anthropic of the user")
	made, _, err := r.api.CreateTask(t.Context(), apiclient.CreateTaskRequest{Repo: repo, Description: "x", MaxRetries: new(int)}, "")
	require.NoError(t, err)
	require.Equal(t, task.AgentClaude, made.Agent)
	r.ends(made.ID, task.StatusFailed) // the program does nothing else
}

// gemini is a program that speaks the Agent Client Protocol: it runs one command, and says whether it has a key.
const gemini = `#!/bin/bash
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":%s}}\n' "$1"; }
while read -r said; do
	id=${said#'{"id":'}; id=${id%%,*}
	case "$said" in
	*'"method":"initialize"'*) answer '{"protocolVersion":1,"agentInfo":{"version":"0.61.0"},"agentCapabilities":{"loadSession":true}}';;
	*'"method":"session/new"'*) answer '{"sessionId":"s1","modes":{"currentModeId":"default","availableModes":[{"id":"default"}]}}';;
	*'"method":"session/set_mode"'*)
		update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"[MODE_UPDATE] default"}}'
		answer '{}';;
	*'"method":"session/prompt"'*)
		update '{"sessionUpdate":"tool_call","toolCallId":"run__1","title":"make","kind":"execute","status":"in_progress"}'
		echo made > made.txt; git add made.txt; git commit -qm 'Make a file'; git push -q origin HEAD
		update '{"sessionUpdate":"tool_call_update","toolCallId":"run__1","status":"completed"}'
		update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"With the key '"$GEMINI_API_KEY"'. TASK_COMPLETE"}}'
		answer '{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":12,"output_tokens":3}}}}';;
	esac
done
`

// A coding agent works on a task from its credential to its pull request.
func TestCodingAgent_WorksOnATask(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "omoi-agents-") //nolint:usetesting // sandboxes must be able to enter it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gemini"), []byte(gemini), 0o755))
	r := newRig(t, map[string]string{"PATH": dir + ":" + os.Getenv("PATH"), "OMOI_SANDBOX_ISOLATION": "none"}).up()
	repo := r.repo()
	r.eventually("the worker reports the program", func() bool {
		hosts, err := r.api.Hosts(t.Context())
		return err == nil && len(hosts) == 1 && slices.Contains(hosts[0].Agents, "gemini")
	})
	refused := r.omoi("run", "x", "--repo", repo, "--agent", "gemini")
	require.Equal(t, 4, refused.code, refused.stderr)
	require.Contains(t, refused.stderr, "Next: omoi credentials set google")

	_, err = r.api.SetCredential(t.Context(), "google", apiclient.SetCredentialRequest{Secret: "planted-google-key"})
	require.NoError(t, err)
	require.Contains(t, r.omoi("doctor").stdout, "credential: google of the user")
	made, _, err := r.api.CreateTask(t.Context(), apiclient.CreateTaskRequest{Repo: repo, Description: "x", Agent: "gemini", MaxRetries: new(int)}, "")
	require.NoError(t, err)
	done := r.ends(made.ID, task.StatusCompleted)
	require.Contains(t, string(done.Result), "With the key [redacted].")
	require.Contains(t, r.omoi("logs", made.ID).stdout, "make")
	require.NotContains(t, r.omoi("transcript", made.ID).stdout, "planted-google-key")
}
