package claude

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
)

const oldSession = `{"type":"queue-operation","content":"/old \"ws\"/a"}
{"type":"user","parentUuid":null,"cwd":"/old \"ws\"","n":12345678901234567890,"text":"<b> in /old \"ws\"/dir/a.go, not in /old \"ws\"2"}
{"type":"user","parentUuid":"u","cwd":"/old \"ws\"/dir","files":{"/old \"ws\"/a":1},"text":"saved to /o/claude/projects/-old--ws-/s-1/tool-results/x.txt"}
`

func TestRestore_ReplacesTheOldWorkspace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	work, from := filepath.Join(dir, "new"), filepath.Join(dir, "resume.jsonl")
	require.NoError(t, os.Mkdir(work, 0o755))
	require.NoError(t, os.WriteFile(from, []byte(oldSession), 0o600))
	env := agent.Env{Config: agentconfig.Config{Dir: dir, Workspace: work}}
	require.NoError(t, restore(env, &agent.Resume{SessionID: "s-1", Path: from}))
	target := transcriptPath(env, "s-1")
	got, err := os.ReadFile(target)
	require.NoError(t, err)
	lines := strings.Split(string(got), "\n")
	require.Equal(t, strings.Split(oldSession, "\n")[0], lines[0], "before the first entry the old workspace is unknown")
	require.Equal(t, `{"type":"user","parentUuid":null,"cwd":"`+work+`","n":12345678901234567890,"text":"\u003cb\u003e in `+work+
		`/dir/a.go, not in /old \"ws\"2"}`, lines[1])
	require.Equal(t, `{"type":"user","parentUuid":"u","cwd":"`+work+`/dir","files":{"`+work+`/a":1},"text":"saved to `+
		strings.TrimSuffix(target, ".jsonl")+`/tool-results/x.txt"}`, lines[2])
	for _, line := range lines[:3] {
		require.True(t, json.Valid([]byte(line)))
	}
}

func TestRestore_KeepsASessionWithoutItsBeginning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, line := filepath.Join(dir, "resume.jsonl"), `{"parentUuid":"u","cwd":"/old/ws/dir","text":"/old/ws/dir/a"}`+"\n"
	require.NoError(t, os.WriteFile(from, []byte(line), 0o600))
	env := agent.Env{Config: agentconfig.Config{Dir: dir, Workspace: dir}}
	require.NoError(t, restore(env, &agent.Resume{SessionID: "s-1", Path: from}))
	got, err := os.ReadFile(transcriptPath(env, "s-1"))
	require.NoError(t, err)
	require.Equal(t, line, string(got))
}
