package claude

import (
	"context"
	"fmt"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/proc"
)

// work is what became of the workspace, and what does not pass.
type work struct {
	clean, committed, pushed, tested bool
	wrong                            []string // a sentence each
}

// look looks at the repository.
func (t *talk) look(ctx context.Context) work {
	repo := t.env.Config.Repo
	if repo == nil {
		return work{clean: true}
	}
	git := gitcmd.Git{Dir: t.env.Config.Workspace}
	left, err := git.Run(ctx, "status", "--porcelain")
	w := work{clean: err == nil && left == ""}
	switch {
	case err != nil:
		w.wrong = append(w.wrong, "The work tree cannot be read: "+err.Error())
	case left != "" && t.wants("REQUIRE_CLEAN_GIT"):
		w.wrong = append(w.wrong, "Not committed:\n"+clip(left, resultBytes))
	}
	head, _ := git.Run(ctx, "rev-parse", "--verify", "--quiet", "HEAD")
	there, _ := git.Run(ctx, "rev-parse", "--verify", "--quiet", "refs/remotes/origin/"+repo.Branch)
	w.committed = head != "" && head != repo.Base
	if w.pushed = head != "" && head == there; !w.pushed && t.wants("REQUIRE_CODE_PUSHED") {
		w.wrong = append(w.wrong, "Not pushed: origin does not have the last commit of "+repo.Branch+". Run git push origin HEAD.")
	}
	return w
}

// wants reports whether the task asks for something; what it does not say it asks for.
func (t *talk) wants(name string) bool { return or(t.vars[name], "true") == "true" }

// validate judges the work: by the repository, and by the task's own test command, which is
// stopped as a turn is.
func (t *talk) validate(ctx context.Context, end *turn) (work, error) {
	w := t.look(ctx)
	command := t.env.Config.TestCommand
	if command == "" {
		return w, ctx.Err()
	}
	done := t.env.Doing.Tool("test command")
	defer done()
	var res proc.Result
	var err error
	t.attend(ctx, end, func(ctx context.Context) {
		res, err = t.env.Procs.Run(ctx, proc.Command{
			Args: agent.Shell(command), Dir: t.env.Config.Workspace, Env: withoutCredentials(t.env.Environ), Timeout: t.env.Config.ToolTimeout,
		})
	})
	t.stopped(end)
	w.tested = err == nil && res.Outcome == proc.Exited && res.ExitCode == 0
	if !w.tested {
		w.wrong = append(w.wrong, fmt.Sprintf("The test command failed (exit code %d):\n%s", res.ExitCode, clip(res.Output[max(len(res.Output)-resultBytes, 0):], resultBytes)))
	}
	return w, ctx.Err()
}
