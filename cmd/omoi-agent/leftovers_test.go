//nolint:paralleltest,thelper // leaves runs them in parallel, as tests of their own
package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
)

// leaves runs a test with an agent of each runtime that does something in a shell, commits nothing and says that it is done.
// Asked to commit, it notes that and does nothing.
func leaves(t *testing.T, does string, continuous bool, test func(t *testing.T, b *box)) {
	t.Helper()
	t.Parallel()
	const asked = `printf %s "$said" | tr '\n' ' ' >> ../asked; echo >> ../asked; `
	script, err := json.Marshal(map[string]any{"steps": []any{map[string]any{"bash": does}, map[string]any{"complete": map[string]any{"output": "Done."}}}})
	require.NoError(t, err)
	if continuous {
		script = []byte(strings.Replace(string(script), `"complete":{"output":"Done."}`, `"continuous_complete":{"validation_passed":true}`, 1))
	}
	boxes := map[string]*box{
		"scripted": newBox(t, string(script)),
		"command":  commandBox(t, `said=$OMOI_FEEDBACK; if [ -n "$said" ]; then `+asked+`else `+does+"\nfi; says Done."),
		"claude": fakeClaudeBox(t, "if [ ! -e ../begun ]; then touch ../begun; "+does+"\nfi; result false 'Done. TASK_COMPLETE'; "+
			"while read -r said; do "+asked+"replay; result false 'No. TASK_COMPLETE'; done"),
	}
	if continuous {
		boxes["command of one turn"] = commandBox(t, does+"\necho Done.")
	}
	for name, b := range boxes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.t = t
			delete(b.cfg.Env, wantsNoCommit)
			b.cfg.CommitLeftovers, b.cfg.Continuous = true, continuous
			test(t, b)
		})
	}
}

func (b *box) asked() []string {
	text, _ := os.ReadFile(b.at("../asked"))
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return line == "" })
}

// planted are hooks, of which none may run, and files of all kinds.
const planted = `
for hook in pre-commit prepare-commit-msg commit-msg post-commit reference-transaction post-index-change; do
	printf '#!/bin/sh\ntouch ../ran\nexit 1\n' > .git/hooks/$hook; chmod +x .git/hooks/$hook
done
printf '*.log\n' > .gitignore; printf '*.txt text\n' > .gitattributes; echo secret > a.log
echo new > new; git add new 2>/dev/null; printf 'a\r\n' > dos.txt; rm README; mkdir -p d; echo y > d/y; ln -s new link
truncate -s 34000000 big; git init -q nested; echo x > nested/x
GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b git -C nested commit -q --allow-empty -m x; rm -f ../ran
`

func TestLeftoversAreCommitted(t *testing.T) {
	t.Parallel()
	for name, continuous := range map[string]bool{"once": false, "in rounds": true} {
		t.Run(name, func(t *testing.T) {
			leaves(t, planted, continuous, func(t *testing.T, b *box) {
				require.Equal(t, 0, b.run())
				require.Equal(t, 1, b.collect().Commits)
				require.NoFileExists(t, b.at("../ran"), "a hook")
				made := b.one("agent.committed")
				require.Equal(t, b.git(b.cfg.Workspace, "rev-parse", "feature/x"), made["commit"])
				require.Equal(t, ".gitattributes\n.gitignore\nd/y\ndos.txt\nlink\nnew", b.git(b.cfg.Workspace, "ls-tree", "-r", "--name-only", "feature/x"))
				require.EqualValues(t, 7, made["files"], "a deleted file too")
				require.Equal(t, []any{`"big" was left out: it has 34000000 bytes, more than 33554432`, `"nested/" was left out: it is a separate repository`}, made["left_out"])
				require.Equal(t, "Agent <agent@example.invalid> Title\n\nOmoi-Committed-By: omoi\n"+b.cfg.Repo.Base,
					b.git(b.cfg.Workspace, "log", "-1", "--format=%an <%ae> %B%P", "feature/x"))
				require.Equal(t, "a", b.git(b.cfg.Workspace, "cat-file", "blob", "feature/x:dos.txt"), "as git add stores it")
				require.Equal(t, "?? big\n?? nested/", b.git(b.cfg.Workspace, "status", "--porcelain"))
				kind := "agent.completed"
				if continuous {
					kind = "continuous.completed"
				}
				done := b.one(kind)
				require.EqualValues(t, 7, done["committed_by_omoi"])
				require.Equal(t, true, done["code_committed"])
				b.askedOnce(t)
			})
		})
	}
}

// askedOnce checks that an agent that takes turns was asked, once, and that its account of the work stays.
func (b *box) askedOnce(t *testing.T) {
	t.Helper()
	switch {
	case b.cfg.Runtime == "claude", b.cfg.Continuous && strings.Contains(strings.Join(b.cfg.Command, " "), "asked"):
		require.Len(t, b.asked(), 1)
		require.Contains(t, b.asked()[0], "Not committed: ")
	default:
		require.Empty(t, b.asked())
	}
	if b.cfg.Runtime == "claude" && !b.cfg.Continuous {
		require.Equal(t, "Done. TASK_COMPLETE", b.one("agent.completed")["final_output"])
	}
}

// Without the setting, in other modes and for a validator nobody commits.
func TestLeftoversAreLeftWhereNobodyWantsACommit(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*agentconfig.Config){
		"off":         func(cfg *agentconfig.Config) { cfg.CommitLeftovers = false },
		"validation":  func(cfg *agentconfig.Config) { cfg.Mode = "validation" },
		"exploration": func(cfg *agentconfig.Config) { cfg.Mode = "exploration" },
		"validator":   func(cfg *agentconfig.Config) { cfg.Validation = &agentconfig.Validation{Round: 1, Rounds: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			leaves(t, "echo new > new", false, func(t *testing.T, b *box) {
				if edit(&b.cfg); b.cfg.Validation != nil && b.cfg.Runtime == "claude" {
					t.Skip("it is asked for its verdict")
				}
				code := b.run()
				require.Equal(t, (name == "off" || name == "validator") && b.cfg.Runtime != "scripted", code == 1)
				require.Empty(t, b.server.Of("agent.committed"))
				require.Equal(t, b.cfg.Repo.Base, b.git(b.cfg.Workspace, "rev-parse", "HEAD"))
				require.Empty(t, b.asked())
				if name == "off" && code == 1 {
					require.Contains(t, b.one("agent.error")["error"], "Not committed: ?? new.")
				}
			})
		})
	}
}

// What the setup command left is not the agent's, and nothing is no work.
func TestLeftoversOfTheSetupCommandAreNotCommitted(t *testing.T) {
	t.Parallel()
	const setup = "echo dep > dep; echo locked >> README; rm -f ../begun"
	t.Run("with work", func(t *testing.T) {
		leaves(t, "echo new > new", false, func(t *testing.T, b *box) {
			b.cfg.Setup = setup
			require.Equal(t, 0, b.run())
			require.EqualValues(t, 1, b.one("agent.committed")["files"])
			require.Equal(t, "A\tnew", b.git(b.cfg.Workspace, "show", "--format=", "--name-status", "HEAD"))
			require.Equal(t, "M README\n?? dep", b.git(b.cfg.Workspace, "status", "--porcelain"))
		})
	})
	t.Run("without", func(t *testing.T) {
		leaves(t, ":", false, func(t *testing.T, b *box) {
			b.cfg.Setup = setup
			require.Equal(t, b.cfg.Runtime != "scripted", b.run() == 1)
			require.Empty(t, b.server.Of("agent.committed"))
			require.Empty(t, b.asked())
		})
	})
}

// Nobody commits half a merge, or on a branch that is not the task's; commits of the agent stay below those of omoi.
func TestLeftoversBesideTheBranch(t *testing.T) {
	t.Parallel()
	const identity = "export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b; "
	for does, why := range map[string]string{
		"git checkout -q --detach; echo new > new":       "HEAD is detached from the branch feature/x",
		"git switch -qc other; echo new > new":           "the branch other is checked out instead of feature/x",
		"git update-ref MERGE_HEAD HEAD; echo new > new": "a merge, rebase or similar operation is unfinished",
		"git switch -qc other; echo 1 > README; git commit -qam 1; echo 2 > README; git commit -qam 2; git switch -q feature/x; git cherry-pick -n other": "files have unresolved conflicts",
		"git commit -q --allow-empty -m work; echo new > new": "",
	} {
		t.Run(why, func(t *testing.T) {
			leaves(t, identity+does, false, func(t *testing.T, b *box) {
				code := b.run()
				if why == "" {
					require.Equal(t, 0, code)
					require.Equal(t, "Title\nwork\nfirst", b.git(b.cfg.Workspace, "log", "--format=%s"))
					return
				}
				require.Empty(t, b.server.Of("agent.committed"))
				if b.cfg.Runtime != "scripted" {
					require.Contains(t, b.one("agent.error")["error"], "omoi did not commit: "+why)
				}
			})
		})
	}
}

func TestLeftoversOfASubmoduleAreNamed(t *testing.T) {
	const commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m "
	leaves(t, "git init -q sub; (cd sub; "+commit+"one); git add sub 2>/dev/null; "+commit+"link; (cd sub; "+commit+"two; echo x > x); echo new > new", false, func(t *testing.T, b *box) {
		require.Equal(t, 0, b.run())
		require.Equal(t, []any{`"sub" was left out: it is a submodule`}, b.one("agent.committed")["left_out"])
		require.Equal(t, b.git(b.at("sub"), "rev-parse", "HEAD~1"), b.git(b.cfg.Workspace, "rev-parse", "HEAD:sub"))
	})
}

// An agent that is killed beside its commit makes no second one, reports the first, and is not asked again.
func TestLeftoversOfAKilledAgentAreCommittedOnce(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("git")
	require.NoError(t, err)
	for _, at := range []string{"update-ref", "read-tree --reset"} {
		t.Run(at, func(t *testing.T) {
			leaves(t, "echo new > new", false, func(t *testing.T, b *box) {
				bin := t.TempDir()
				wrapper := `#!/bin/sh
case "$GIT_INDEX_FILE:$*" in
:*"` + at + `"*) [ -e ` + bin + `/killed ] || { touch ` + bin + `/killed; kill -9 $PPID; exit 1; };;
esac
exec ` + program + ` "$@"
`
				require.NoError(t, os.WriteFile(filepath.Join(bin, "git"), []byte(wrapper), 0o755))
				b.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
				require.Equal(t, -1, b.run())
				require.FileExists(t, filepath.Join(bin, "killed"))
				require.Empty(t, b.server.Of("agent.committed"))
				require.Equal(t, 0, b.run())
				require.Equal(t, "Title\nfirst", b.git(b.cfg.Workspace, "log", "--format=%s", "feature/x"))
				require.Equal(t, b.git(b.cfg.Workspace, "rev-parse", "feature/x"), b.one("agent.committed")["commit"])
				require.Empty(t, b.git(b.cfg.Workspace, "status", "--porcelain"))
				require.EqualValues(t, 1, b.one("agent.completed")["committed_by_omoi"])
				b.askedOnce(t)
			})
		})
	}
}

// The work of an agent was done before it is asked: a failed turn or a spent budget costs nothing more.
func TestLeftoversAreCommittedWhateverTheAskedAgentDoes(t *testing.T) {
	t.Parallel()
	const does = "echo new > new; result false Done.; "
	for name, c := range map[string]struct {
		does, budget string
		asked        int
	}{
		"fails":          {does + "read -r said; echo asked > ../asked; replay; result true no; exit 1", "10", 1},
		"is killed":      {does + "read -r said; echo asked > ../asked; kill -9 $$", "10", 1},
		"commits itself": {does + "read -r said; echo asked > ../asked; replay; git add new; git commit -qm mine; result false Committed.; cat > /dev/null", "10", 1},
		"has no budget":  {does + "grep 'Not committed' > ../asked; exit 0", "0.5", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := fakeClaudeBox(t, c.does)
			delete(b.cfg.Env, wantsNoCommit)
			b.cfg.CommitLeftovers, b.cfg.Env["MAX_BUDGET_USD"] = true, c.budget
			require.Equal(t, 0, b.run())
			require.Equal(t, "new", b.git(b.cfg.Workspace, "show", "--format=", "--name-only", "feature/x"))
			require.Len(t, b.asked(), c.asked)
			require.Equal(t, name == "commits itself", len(b.server.Of("agent.committed")) == 0)
			require.Equal(t, "Done.", b.one("agent.completed")["final_output"])
		})
	}
}

// The files of the workspace are committed, and no others, whatever the agent has set.
func TestLeftoversAreThoseOfTheWorkspace(t *testing.T) {
	leaves(t, "mkdir ../other; echo other > ../other/other; echo new > new; git config core.worktree $PWD/../other", false, func(t *testing.T, b *box) {
		require.Equal(t, 0, b.run())
		require.Equal(t, "A\tnew", b.git(b.cfg.Workspace, "-c", "core.worktree=", "show", "--format=", "--name-status", "feature/x"))
	})
}
