package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// takes runs until a file go exists. An attempt that finds the file mine commits everything and says what it found.
const takes = `if [ -e mine ]; then echo "{\"omoi\":\"event\",\"event_type\":\"agent.message\",\"event_data\":{\"content\":\"found $(cat mine) $(cat draft)\"}}"; ` +
	`git add -A; git commit -qm last; exit 0; fi
echo one > draft; mkdir -p .husky; printf '#!/bin/sh\ntouch "$RAN"\n' > .husky/post-checkout; chmod +x .husky/post-checkout; echo '{}' > package.json
until [ -e go ]; do sleep 0.1; done`

// inside runs omoi in a folder.
func (r *rig) inside(dir string, args ...string) result {
	r.t.Helper()
	return r.run("env", append([]string{"-C", dir, r.program()}, args...)...)
}

func (r *rig) gitIn(dir string, args ...string) string {
	r.t.Helper()
	got := r.run("git", append([]string{"-C", dir, "-c", "core.hooksPath=/dev/null", "-c", "user.name=me", "-c", "user.email=me@example.com"}, args...)...)
	require.Zero(r.t, got.code, got.stderr)
	return strings.TrimSpace(got.stdout)
}

// clone returns the clone of a user, whose Git runs hooks of the work tree.
func (r *rig) clone(repo string) string {
	r.t.Helper()
	clone := filepath.Join(filepath.Dir(repo), "clone")
	require.Zero(r.t, r.run("git", "clone", "-q", repo, clone).code)
	r.gitIn(clone, "config", "core.hooksPath", ".husky")
	return clone
}

type tookTask struct {
	Checkpoint string   `json:"checkpoint"`
	Folder     string   `json:"folder"`
	Session    string   `json:"session_id"`
	Files      []string `json:"runnable_files"`
	Command    string   `json:"command"`
}

func (r *rig) take(clone string, args ...string) (took tookTask) {
	r.t.Helper()
	got := r.inside(clone, append([]string{"take", "--json"}, args...)...)
	require.Zero(r.t, got.code, got.stderr)
	require.NoError(r.t, json.Unmarshal([]byte(got.stdout), &took), got.stdout)
	return took
}

// TestTake_AndGive takes a running task, works on it on the user's own machine, and gives it back; a second worktree is then too late.
func TestTake_AndGive(t *testing.T) {
	t.Parallel()
	ran := filepath.Join(t.TempDir(), "ran")
	r := newRig(t, map[string]string{"OMOI_CHECKPOINT_INTERVAL": "100ms", "RAN": ran}).up()
	repo := r.repo()
	clone := r.clone(repo)
	made := r.submit(repo, command(takes, `,"continuous":false`), asCommand)
	r.eventually("a checkpoint has the file", func() bool {
		return r.count(`SELECT count(*) FROM checkpoints WHERE task_id = $1 AND sealed_at IS NOT NULL AND files = 3`, made.ID) > 0
	})
	took := r.take(clone, made.ID)
	require.Equal(t, []string{".husky/post-checkout", "package.json"}, took.Files)
	require.Empty(t, took.Session)
	require.NoFileExists(t, ran)
	draft, err := os.ReadFile(filepath.Join(took.Folder, "draft"))
	require.NoError(t, err)
	require.Equal(t, "one\n", string(draft))
	got := r.task(made.ID)
	require.Equal(t, []any{task.StatusPending, task.BlockedSuspended, 0, 0}, []any{got.Status, got.Blocked, got.Retries, got.Replacements})
	require.Equal(t, []string{"suspended", ""}, []string{got.Attempts[0].Outcome, string(got.Attempts[0].FailureClass)})
	require.Contains(t, r.omoi("why", made.ID).stdout, "A user suspended the task")
	second := r.take(clone, made.ID, "../second")

	require.NoError(t, os.WriteFile(filepath.Join(took.Folder, "draft"), []byte("two"), 0o600))
	r.gitIn(took.Folder, "add", "-A")
	r.gitIn(took.Folder, "commit", "-qm", "by the user")
	require.NoError(t, os.WriteFile(filepath.Join(took.Folder, "mine"), []byte("mine"), 0o600))
	gave := r.inside(took.Folder, "give")
	require.Zero(t, gave.code, gave.stderr)
	require.Contains(t, gave.stdout, "give of checkpoint 1.")
	done := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 2, done.AttemptCount)
	require.Equal(t, "rewound", done.Attempts[1].Kind)
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND event_type = 'agent.message'
		AND event_data ->> 'content' = 'found mine two'`, done.Attempts[1].SandboxID))
	require.Equal(t, "last\nby the user\nbegin", r.gitIn(repo, "log", "--format=%s", text(done.Branch)))

	late := r.inside(second.Folder, "give")
	require.NotZero(t, late.code)
	require.Contains(t, late.stderr, "has continued since omoi take")
	require.NoFileExists(t, ran)
	r.noLeaks()
}

// TestTake_ThenRetry resumes a taken task without the user's work, and refuses worktrees that cannot be given.
func TestTake_ThenRetry(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_CHECKPOINT_INTERVAL": "100ms"}).up()
	repo := r.repo()
	clone := r.clone(repo)
	made := r.submit(repo, command(strings.Replace(takes, "-e mine", "-e draft", 1), `,"continuous":false`), asCommand)
	r.eventually("a checkpoint has the file", func() bool {
		return r.count(`SELECT count(*) FROM checkpoints WHERE task_id = $1 AND sealed_at IS NOT NULL AND files = 3`, made.ID) > 0
	})
	took := r.take(clone, made.ID)
	r.gitIn(took.Folder, "commit", "-q", "--allow-empty", "-m", "a")
	r.gitIn(took.Folder, "revert", "--no-commit", "HEAD")
	busy := r.inside(took.Folder, "give")
	require.Contains(t, busy.stderr, "erge, rebase or similar operation is in progress")
	require.Contains(t, r.inside(clone, "give").stderr, "is not in a worktree that omoi take created")
	require.Zero(t, r.omoi("retry", made.ID).code)
	done := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, []string{"resumed", took.Checkpoint}, []string{done.Attempts[1].Kind, done.Attempts[1].RestoredFrom})
}
