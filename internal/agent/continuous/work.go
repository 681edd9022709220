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

// maxWords is the maximum bytes of one reason why work does not pass.
const maxWords = 5000

// Work is the result of a check of the workspace.
type Work struct {
	Clean, Committed, Pushed, Tested bool
	Wrong                            []string // reasons why the work does not pass, one sentence each
	left                             string   // uncommitted changes as git status prints them
	base                             string   // base commit, if the branch no longer contains it
	aside                            string   // HEAD, if it is not on top of the branch
	beside                           string   // commit on another branch or in a stash, if the branch has not moved
	looked, tested                   bool
	unmoved                          bool   // the branch has not moved, and the other branches can be read
	why                              string // sentence that says why omoi did not commit
	// ByOmoi is the number of files that omoi has committed in this attempt.
	ByOmoi int
}

// Idle reports whether the task has changed nothing: no commit and no uncommitted file.
func (w Work) Idle() bool { return w.Clean && w.unmoved && w.aside == "" && w.beside == "" }

// Found returns the checked facts as event fields.
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

// Asks are the requirements for work to pass. Both are required by default.
type Asks struct{ Clean, Pushed bool }

// AsksOf returns the requirements in the environment of the agent's program.
func AsksOf(vars map[string]string) Asks {
	return Asks{Clean: wants(vars, "REQUIRE_CLEAN_GIT"), Pushed: wants(vars, "REQUIRE_CODE_PUSHED")}
}

func wants(vars map[string]string, name string) bool { return vars[name] == "" || vars[name] == "true" }

// Writes reports whether the result of a mode is commits, as opposed to text.
func Writes(mode string) bool { return mode != task.ModeExploration && mode != task.ModeValidation }

// Look checks the repository.
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
	made := env.Leftovers.Made() // omoi publishes its own commit
	w.ByOmoi = made.All
	w.Pushed = tip != "" && tip == git.Commit(ctx, "refs/remotes/origin/"+repo.Branch)
	if !w.Pushed && asks.Pushed && (tip == "" || tip != made.Commit) {
		w.Wrong = append(w.Wrong, "Not pushed: origin does not have the last commit of "+repo.Branch+". Run git push origin HEAD.")
	}
	return w
}

// history checks whether there is a commit on top of the base commit, and returns the commit that becomes the task's
// branch: the branch itself, or HEAD if it descends from the branch, as when the work is collected.
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

// beside returns a commit that another branch or a stash has and the branch does not; ok is false if they cannot be
// read.
func beside(ctx context.Context, git gitcmd.Git, tip string) (id string, ok bool) {
	id, err := git.Run(ctx, "rev-list", "--max-count=1", "--branches", "--glob=refs/stash*", "--not", tip)
	return id, err == nil
}

// goesOn reports whether a commit descends from another one. If that is unknown, for example because the history is
// cut, it returns true: omoi publishes descendants of the branch only.
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

// Undone returns the reason why an implementation is not done: it has no commit, so a pull request is not possible.
// Empty: it has a commit, or the task requires none.
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
		return notCommitted(w.left) + " The branch " + repo.Branch + " has no commit of this task, and only what is committed is work: commit it." + w.why
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
		text += " " + notCommitted(w.left) + w.why
	}
	return text
}

// notCommitted names the uncommitted changes in one line.
func notCommitted(left string) string {
	files := strings.Join(strings.Fields(strings.ReplaceAll(left, "\n", ", ")), " ")
	return "Not committed: " + textcut.First(files, maxWords) + "."
}

// leftOver names the uncommitted changes and the next step.
func leftOver(left string) string {
	if strings.Contains("\n"+left, "\n??") {
		return notCommitted(left) + " Commit it, or add what is no work to .gitignore and commit that."
	}
	return notCommitted(left) + " Commit it, or put it back as it was."
}

// Asked adds the reason of Undone, which also names the uncommitted changes.
func (w Work) Asked(env agent.Env, vars map[string]string) Work {
	if text := w.Undone(env, vars); text != "" {
		said := func(wrong string) bool { return w.left != "" && wrong == leftOver(w.left) }
		w.Wrong = append(slices.DeleteFunc(w.Wrong, said), text)
	}
	return w
}

// validate checks the repository and runs the task's test command. An interrupt or the time limit stops the test
// command.
func (d *Driver) validate(ctx context.Context, end *Turn) (Work, error) {
	left, w := d.left(ctx), Look(ctx, d.Env, d.Asks).Asked(d.Env, d.Vars)
	d.State.Asked = d.State.Asked || w.left != ""
	if d.Env.Config.TestCommand != "" {
		w = d.test(ctx, end, w)
	}
	if ctx.Err() == nil && !end.Interrupted && end.Stop == "" && (w.Tested || !w.tested) {
		w = d.commit(ctx, left, w)
	}
	return w, ctx.Err()
}

// test runs the task's own test command.
func (d *Driver) test(ctx context.Context, end *Turn, w Work) Work {
	env := d.Env
	done := env.Doing.Tool("test command")
	defer done()
	var res proc.Result
	var err error
	d.attend(ctx, end, func(ctx context.Context) {
		res, err = env.Procs.Run(ctx, proc.Command{
			Args: agent.Shell(env.Config.TestCommand), Dir: env.Config.Workspace, Env: d.Environ, Timeout: env.Config.ToolTimeout,
		})
	})
	return w.judged(res, err)
}

// judged adds the result of the test command.
func (w Work) judged(res proc.Result, err error) Work {
	w.tested, w.Tested = true, err == nil && res.Outcome == proc.Exited && res.ExitCode == 0
	if !w.Tested {
		w.Wrong = append(w.Wrong, fmt.Sprintf("The test command failed (exit code %d):\n%s", res.ExitCode, task.Squeezed(textcut.Last(res.Output, maxWords))))
	}
	return w
}

// Feedback returns the reasons why the work does not pass, as text for the agent.
func (w Work) Feedback() string { return strings.Join(w.Wrong, "\n") }
