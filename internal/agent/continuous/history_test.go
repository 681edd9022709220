package continuous_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/task"
)

const commits = `
set -e
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_GLOBAL=/dev/null
commit() { git commit -q --allow-empty -m "$1"; }
`

// TestLook_WorkStandsOnItsBase checks that only commits on top of the base commit count as work.
func TestLook_WorkStandsOnItsBase(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	for name, c := range map[string]struct {
		does string
		done bool
		why  string
	}{
		"nothing":                   {":", false, "has no commit of this task"},
		"a commit":                  {"commit work", true, ""},
		"detached":                  {"git checkout -q --detach; commit work", true, ""},
		"elsewhere, going on":       {"git switch -qc other; commit work", true, ""},
		"looked back":               {"commit work; git checkout -q main", true, ""},
		"a merge of newer":          {"git switch -q main; commit newer; git switch -q feature/x; commit work; git merge -q --no-edit main", true, ""},
		"a rebase onto newer":       {"commit work; git switch -q main; commit newer; git switch -q feature/x; git rebase -q main", true, ""},
		"amended":                   {"commit work; git commit -q --amend --allow-empty -m better", true, ""},
		"one step back":             {"git reset -q --hard HEAD~1", false, "was rewritten"},
		"another way":               {"git reset -q --hard HEAD~1; commit work", false, "was rewritten"},
		"an orphan in place":        {"git checkout -q --orphan other; commit work; git branch -qM feature/x", false, "was rewritten"},
		"an orphan beside":          {"git checkout -q --orphan other; commit work", false, "does not go on from the branch"},
		"on another branch":         {"git switch -qc other; commit work; git switch -q feature/x", false, "is on another branch"},
		"no branch any more":        {"git checkout -q --orphan other; commit work; git branch -qD feature/x", false, "was rewritten"},
		"the base is not here":      {"git checkout -q --orphan other; commit work; git branch -qM feature/x; git branch -qD main; git reflog expire --expire=now --all; git gc -q --prune=now", true, ""},
		"a stash":                   {"echo 1 > new.py; git add .; git stash -q", false, "git stash pop"},
		"an orphan where it is cut": {"git rev-parse HEAD > .git/shallow; git checkout -q --orphan other; commit work; git branch -qM feature/x", false, "was rewritten"},
		"a commit where it is cut":  {"git rev-parse HEAD > .git/shallow; commit work", true, ""},
		"shallow":                   {"commit work; git rev-parse HEAD > .git/shallow", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			base := shell(t, dir, `git init -q -b main; commit first; commit second; git switch -qc feature/x; git rev-parse HEAD`)
			shell(t, dir, c.does)
			env := agent.Env{Config: agentconfig.Config{Workspace: dir, Mode: "implementation", Repo: &agentconfig.Repo{Branch: "feature/x", Base: base}}}
			w := continuous.Look(t.Context(), env, continuous.Asks{})
			require.Equal(t, c.done, w.Committed)
			why := w.Undone(env, nil)
			require.Equal(t, c.done, why == "", why)
			require.Contains(t, why, c.why)
			if c.why == "was rewritten" {
				require.Contains(t, why, "git switch -C feature/x "+base)
			}
		})
	}
}

// TestUndone_TaskMayChangeNothing checks a task that may change nothing: it is done without a commit, if the work tree
// is clean, no other branch or stash has commits, and the branch has not moved.
func TestUndone_TaskMayChangeNothing(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	for does, idle := range map[string]bool{
		":": true, "echo 1 > new.py": false, "git reset -q --hard HEAD~1": false, "git checkout -q --orphan other; commit work": false, "commit work": false,
		"echo 1 > new.py; git stash -qu": false, "echo 1 > new.py; git stash -qu; git stash drop -q": true, "git branch -q other": true,
		"git switch -qc other; commit work; git switch -q feature/x": false, "git branch -q other HEAD~1": true, "echo 1 > .git/refs/heads/bad": false,
	} {
		dir := t.TempDir()
		base := shell(t, dir, `git init -q -b main; commit first; commit second; git switch -qc feature/x; git rev-parse HEAD`)
		shell(t, dir, does)
		env := agent.Env{Config: agentconfig.Config{Workspace: dir, Mode: "implementation", Repo: &agentconfig.Repo{Branch: "feature/x", Base: base}}}
		w := continuous.Look(t.Context(), env, continuous.Asks{})
		require.Equal(t, idle, w.Idle(), does)
		require.Equal(t, idle, w.Found()["changed_nothing"], does)
		require.Equal(t, idle || w.Committed, w.Undone(env, map[string]string{task.EnvRequireChanges: "false"}) == "", does)
		require.Equal(t, w.Committed, w.Undone(env, nil) == "", does)
	}
}

// TestAsked_NotCommitted checks that uncommitted changes are named once, in one line, with the next step.
func TestAsked_NotCommitted(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	dir := t.TempDir()
	base := shell(t, dir, `git init -q -b main; echo 1 > calc.py; git add .; commit first; git switch -qc feature/x; git rev-parse HEAD`)
	shell(t, dir, "echo 2 > calc.py; echo 3 > new.py")
	env := agent.Env{Config: agentconfig.Config{Workspace: dir, Mode: "implementation", Repo: &agentconfig.Repo{Branch: "feature/x", Base: base}}}
	w := continuous.Look(t.Context(), env, continuous.Asks{Clean: true}).Asked(env, nil)
	require.Equal(t, "Not committed: M calc.py, ?? new.py. The branch feature/x has no commit of this task, and only what is committed is work: commit it.", w.Feedback())
	shell(t, dir, "git commit -qam mended")
	w = continuous.Look(t.Context(), env, continuous.Asks{Clean: true}).Asked(env, nil)
	require.Contains(t, w.Feedback(), "Not committed: ?? new.py. Commit it, or add what is no work to .gitignore and commit that.")
}

func shell(t *testing.T, dir, does string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", commits+does)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.TrimSpace(string(out))
}
