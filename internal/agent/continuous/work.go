package continuous

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/task"
)

// maxWords bounds what is said of one thing that does not pass.
const maxWords = 5000

// Work is what became of the workspace, and what does not pass.
type Work struct {
	Clean, Committed, Pushed, Tested bool
	Wrong                            []string // a sentence each
	left                             string   // what is not committed
	base                             string   // commit that the branch has lost
	aside                            string   // commit that does not go on from the branch
	beside                           string   // commit on another branch or in a stash, of an unmoved branch
	looked, tested                   bool
	unmoved                          bool // the branch is where it was, and the others can be read
}

// Idle reports whether the task has changed nothing, and left nothing behind.
func (w Work) Idle() bool { return w.Clean && w.unmoved && w.aside == "" && w.beside == "" }

// Found is what was seen of the work, as the data of an event.
func (w Work) Found() map[string]any {
	data := map[string]any{}
	if w.looked {
		data["code_committed"], data["code_pushed"], data["changed_nothing"] = w.Committed, w.Pushed, w.Idle()
	}
	if w.tested {
		data["tests_passed"], data["tests_run"] = w.Tested, true
	}
	return data
}

// Asks is what has to be there for work to pass. What a task does not say it asks for.
type Asks struct{ Clean, Pushed bool }

// AsksOf reads it from the environment of the agent's program.
func AsksOf(vars map[string]string) Asks {
	return Asks{Clean: wants(vars, "REQUIRE_CLEAN_GIT"), Pushed: wants(vars, "REQUIRE_CODE_PUSHED")}
}

func wants(vars map[string]string, name string) bool { return vars[name] == "" || vars[name] == "true" }

// Writes reports whether the work of a mode is what is committed, not what is said.
func Writes(mode string) bool { return mode != task.ModeExploration && mode != task.ModeValidation }

// Look looks at the repository.
func Look(ctx context.Context, env agent.Env, asks Asks) Work {
	repo := env.Config.Repo
	if repo == nil {
		return Work{Clean: true}
	}
	git := gitcmd.Git{Dir: env.Config.Workspace}
	left, err := git.Run(ctx, "status", "--porcelain")
	w := Work{Clean: err == nil && left == "", left: left, looked: true}
	switch {
	case err != nil:
		w.Wrong = append(w.Wrong, "The work tree cannot be read: "+err.Error())
	case left != "" && asks.Clean:
		w.Wrong = append(w.Wrong, leftOver(left))
	}
	w, tip := w.history(ctx, git, repo)
	if w.Pushed = tip != "" && tip == git.Commit(ctx, "refs/remotes/origin/"+repo.Branch); !w.Pushed && asks.Pushed {
		w.Wrong = append(w.Wrong, "Not pushed: origin does not have the last commit of "+repo.Branch+". Run git push origin HEAD.")
	}
	return w
}

// history checks whether there is a commit on top of the task's first one, and returns the commit that becomes the
// task's branch: the branch itself, or HEAD if it descends from the branch, as when the work is collected.
func (w Work) history(ctx context.Context, git gitcmd.Git, repo *agentconfig.Repo) (seen Work, tip string) {
	head, tip := git.Commit(ctx, "HEAD"), git.Commit(ctx, "refs/heads/"+repo.Branch)
	switch {
	case tip == "" || head == tip || head != "" && goesOn(ctx, git, tip, head):
		tip = head
	case head != "" && !goesOn(ctx, git, head, tip):
		w.aside = head
	}
	switch {
	case tip == "":
	case tip == repo.Base:
		w.beside, w.unmoved = beside(ctx, git, tip)
	case goesOn(ctx, git, repo.Base, tip):
		w.Committed = true
	default:
		w.base = repo.Base
	}
	return w, tip
}

// beside is a commit that another branch or a stash holds, and the branch does not; ok is false where they cannot be read.
func beside(ctx context.Context, git gitcmd.Git, tip string) (id string, ok bool) {
	id, err := git.Run(ctx, "rev-list", "--max-count=1", "--branches", "--glob=refs/stash*", "--not", tip)
	return id, err == nil
}

// goesOn reports whether a commit descends from another one. If that is unknown, for example because the history is cut
// or the branch was moved, it returns true: only descendants of the branch are published.
func goesOn(ctx context.Context, git gitcmd.Git, from, id string) bool {
	_, err := git.Run(ctx, "merge-base", "--is-ancestor", from, id)
	if failed, ok := errors.AsType[*gitcmd.Error](err); !ok || failed.ExitCode != 1 {
		return true
	}
	firsts, _ := git.Run(ctx, "rev-list", "--max-parents=0", id, "^"+from)
	return slices.ContainsFunc(strings.Fields(firsts), func(first string) bool { return isCut(ctx, git, first) })
}

// isCut reports whether a commit has parents that git does not follow, as in a shallow clone.
func isCut(ctx context.Context, git gitcmd.Git, id string) bool {
	text, _ := git.Run(ctx, "cat-file", "commit", id)
	head, _, _ := strings.Cut(text, "\n\n")
	return strings.Contains(head, "\nparent ")
}

// Undone says why an implementation is not done: nothing of it was committed, so that there is
// nothing to open a pull request of. It is empty where something was, or where no commit is asked for.
func (w Work) Undone(env agent.Env, vars map[string]string) string {
	repo := env.Config.Repo
	if repo == nil || w.Committed || !Writes(env.Config.Mode) || !wants(vars, "REQUIRE_CODE_PUSHED") {
		return ""
	}
	if w.Idle() && !wants(vars, task.EnvRequireChanges) {
		return ""
	}
	text := "No work found: branch " + repo.Branch + " has no commit of this task. Make the change and commit it; " +
		"a task that is to change nothing has REQUIRE_CODE_PUSHED=false in env of its execution config."
	switch {
	case w.left != "" && w.base == "" && w.aside == "":
		return notCommitted(w.left) + " The branch " + repo.Branch + " has no commit of this task, and only what is committed is work: commit it."
	case w.base != "":
		text = "The history of the branch " + repo.Branch + " was rewritten: it no longer goes on from " + w.base + ", with which the task began, and " +
			"only commits on top of that are work. Begin again there (git switch -C " + repo.Branch + " " + w.base + "), and bring the commits of the task to it (git cherry-pick)."
	case w.aside != "":
		text += " The commit " + w.aside + " does not go on from the branch: bring it there (git switch " + repo.Branch + ", git cherry-pick)."
	case w.beside != "":
		text += " The commit " + w.beside + " is on another branch or in a stash: bring it to the branch (git cherry-pick, git stash pop), " +
			"or delete what is not wanted (git branch -D, git stash drop)."
	}
	if w.left != "" {
		text += " " + notCommitted(w.left)
	}
	return text
}

// notCommitted names what git says is changed, in one line.
func notCommitted(left string) string {
	files := strings.Join(strings.Fields(strings.ReplaceAll(left, "\n", ", ")), " ")
	return "Not committed: " + textcut.First(files, maxWords) + "."
}

// leftOver also says what to do about it, where all else is done.
func leftOver(left string) string {
	if strings.Contains("\n"+left, "\n??") {
		return notCommitted(left) + " Commit it, or add what is no work to .gitignore and commit that."
	}
	return notCommitted(left) + " Commit it, or put it back as it was."
}

// Asked adds that nothing was done, where that does not pass. What is not committed it says as well.
func (w Work) Asked(env agent.Env, vars map[string]string) Work {
	if text := w.Undone(env, vars); text != "" {
		said := func(wrong string) bool { return w.left != "" && wrong == leftOver(w.left) }
		w.Wrong = append(slices.DeleteFunc(w.Wrong, said), text)
	}
	return w
}

// validate judges the work: by the repository, and by the task's own test command, which is stopped as the agent is.
func (d *Driver) validate(ctx context.Context, end *Turn) (Work, error) {
	env := d.Env
	w := Look(ctx, env, d.Asks).Asked(env, d.Vars)
	if env.Config.TestCommand == "" {
		return w, ctx.Err()
	}
	done := env.Doing.Tool("test command")
	defer done()
	var res proc.Result
	var err error
	d.attend(ctx, end, func(ctx context.Context) {
		res, err = env.Procs.Run(ctx, proc.Command{
			Args: agent.Shell(env.Config.TestCommand), Dir: env.Config.Workspace, Env: d.Environ, Timeout: env.Config.ToolTimeout,
		})
	})
	return w.judged(res, err), ctx.Err()
}

// judged is the work with how the test command ended.
func (w Work) judged(res proc.Result, err error) Work {
	w.tested, w.Tested = true, err == nil && res.Outcome == proc.Exited && res.ExitCode == 0
	if !w.Tested {
		w.Wrong = append(w.Wrong, fmt.Sprintf("The test command failed (exit code %d):\n%s", res.ExitCode, task.Squeezed(textcut.Last(res.Output, maxWords))))
	}
	return w
}

// Feedback is what does not pass, in words for the agent.
func (w Work) Feedback() string { return strings.Join(w.Wrong, "\n") }
