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

// The names come from the function of Claude Code 2.1.197 and 2.1.328, run by Node.
func TestFolderOf_NamesFoldersAsTheProgramDoes(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/a/b_c.d/é":                                "-a-b-c-d--",
		"/" + strings.Repeat("a/", 99) + "x":        strings.Repeat("-a", 99) + "-x",
		"/" + strings.Repeat("a/", 100):             strings.Repeat("-a", 100) + "-f6id5z",
		"/w/é😀/" + strings.Repeat("long.name/", 30): ("-w----" + strings.Repeat("-long-name", 30))[:200] + "-m5wzwm",
		"/" + strings.Repeat("Z9", 150):             ("-" + strings.Repeat("Z9", 150))[:200] + "-uxbvyx",
	} {
		require.Equal(t, want, folderOf(path))
	}
}

func TestReplacePath_ReplacesWholeComponents(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/w/a":                          "/new",
		"/w/a/b.go:12":                  "/new/b.go:12",
		"see /w/a.":                     "see /new.",
		"in /w/a... and (/w/a), \n/w/a": "in /new... and (/new), \n/new",
		"file:///w/a/b":                 "file:///new/b",
		"PATH=/w/a/bin:/w/a":            "PATH=/new/bin:/new",
		"/w/ab /w/a-b /w/a.b /w/a_b/c":  "/w/ab /w/a-b /w/a.b /w/a_b/c",
		"/w/a./b /w/aé":                 "/w/a./b /w/aé",
		"/x/w/a ../w/a ~/w/a":           "/x/w/a ../w/a ~/w/a",
		"/w/a/w/a":                      "/new/w/a",
		"{\"file_path\":\"/w/a/b\"}":    "{\"file_path\":\"/new/b\"}",
		"/w":                            "/w",
	} {
		require.Equal(t, want, replacePath(text, "/w/a", "/new"), text)
	}
}

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
