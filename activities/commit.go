package activities

import (
	"context"
	"fmt"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// hasCommit returns an error if the branch of an agent that pushes by itself must have a commit of the task, and has none.
func (a *Activities) hasCommit(ctx context.Context, in contract.SandboxRef, work task.Work) error {
	if !mustCommit(in, work) || !requires(work, task.EnvRequireChanges) {
		return nil
	}
	host, err := a.host(work)
	if err != nil {
		return published(err)
	}
	for _, base := range []string{work.DefaultBranch, work.Base} { // the default branch holds the work if that is merged already
		ahead, err := host.Ahead(ctx, scm.Repo(work.Repo), base, work.Branch)
		if err != nil {
			return published(fmt.Errorf("count commits of %s: %w", work.Branch, err))
		}
		if ahead > 0 {
			return nil
		}
	}
	return noCommit(work)
}

// mustCommit reports whether the branch judges the work: the agent says that its own checks passed, and the task asks for
// commits. A script's last event counts as it is.
func mustCommit(in contract.SandboxRef, work task.Work) bool {
	return in.Claimed && strict(work) && task.RuntimeOf(work.Agent).Input != task.InputScript && requires(work, "REQUIRE_CODE_PUSHED")
}

// requires reports whether the task's configuration leaves a requirement in force, as omoi-agent reads it.
func requires(work task.Work, name string) bool {
	value := work.Execution.Env[name]
	return value == "" || value == "true"
}

// noCommit is a failure of the agent: the next attempt is told of it.
func noCommit(work task.Work) error {
	return classed(task.ClassAgentError, task.Errorf(task.CodeInvalid,
		"Nothing was done: the branch %s has no commit of this task. Next: commit and push the change; "+
			"a task without changes sets REQUIRE_CODE_PUSHED=false in env of its execution config.", work.Branch))
}
