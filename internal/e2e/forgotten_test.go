package e2e_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// TestForgottenCommit_CompletesInTheFirstAttempt has agents change files and commit nothing: omoi commits the files, unless the
// project does not want it.
func TestForgottenCommit_CompletesInTheFirstAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo, strict := r.repo(), r.keepingRepo()
	const does = `printf '*.log\n' > .gitignore; echo l > a.log; echo work > work.txt`
	program, err := json.Marshal(map[string]any{"command": []string{"sh", "-c", does}})
	require.NoError(t, err)
	forgot := r.submit(repo, program, asCommand)
	scripted := r.submit(repo, script(stepUnsaved, stepComplete))
	refused := r.submit(strict, program, asCommand, retries(0))

	got := r.ends(forgot.ID, task.StatusCompleted)
	require.Equal(t, 1, got.AttemptCount)
	require.Equal(t, ".gitignore\nwork.txt\n", r.run("git", "-C", repo, "ls-tree", "-r", "--name-only", text(got.Branch)).stdout)
	require.Contains(t, r.run("git", "-C", repo, "log", "-1", "--format=%B", text(got.Branch)).stdout, "\n\nOmoi-Committed-By: omoi\n")
	require.Equal(t, 1, r.stored(text(got.SandboxID), "agent.committed"))
	require.Contains(t, r.omoi("logs", forgot.ID).stdout, "by omoi: 2 files that the agent left uncommitted")

	got = r.ends(scripted.ID, task.StatusCompleted)
	require.Equal(t, "not committed\n", r.run("git", "-C", repo, "show", text(got.Branch)+":notes.txt").stdout)

	failed := r.ends(refused.ID, task.StatusFailed)
	require.Contains(t, text(failed.ErrorMessage), "Not committed: ?? .gitignore, ?? work.txt.")
	require.Zero(t, r.stored(failed.Attempts[0].SandboxID, "agent.committed"))
	r.noLeaks()
	r.gapless()
}
