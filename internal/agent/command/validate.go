package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/task"
)

// verdict is what was found out about the work of a program that ended well.
type verdict struct {
	clean  bool     // nothing is left uncommitted
	tested bool     // the task has a test command, and it passed
	wrong  []string // what does not pass, a sentence each
}

// validate judges the work in continuous mode, where an exit code alone completes nothing:
// all is committed, and the task's test command passes. Pushing and the pull request are
// omoi's own.
func (c Runtime) validate(ctx context.Context, env agent.Env, environ []string) verdict {
	v := verdict{clean: true}
	if env.Config.Repo != nil {
		git := gitcmd.Git{Dir: env.Config.Workspace}
		left, err := git.Run(ctx, "status", "--porcelain")
		switch {
		case err != nil:
			v.wrong = append(v.wrong, "The work tree cannot be read: "+err.Error())
		case left != "":
			v.wrong = append(v.wrong, "Not committed:\n"+left)
		}
		v.clean = err == nil && left == ""
	}
	if env.Config.TestCommand == "" {
		return v
	}
	res, err := env.Procs.Run(ctx, proc.Command{
		Args: agent.Shell(env.Config.TestCommand), Dir: env.Config.Workspace, Env: environ, Timeout: env.Config.ToolTimeout,
	})
	v.tested = err == nil && res.Outcome == proc.Exited && res.ExitCode == 0
	if !v.tested {
		v.wrong = append(v.wrong, fmt.Sprintf("The test command failed (exit code %d):\n%s", res.ExitCode, tail(res.Output)))
	}
	return v
}

// report tells the verdict as the original's continuous mode does.
func (v verdict) report(env agent.Env, done map[string]any) {
	passed, feedback := len(v.wrong) == 0, strings.Join(v.wrong, "\n")
	env.Report.Emit("iteration.validation", map[string]any{
		"iteration_num": 1, "passed": passed, "feedback": feedback, "errors": v.wrong,
		"git_status": map[string]any{"is_clean": v.clean, "branch_name": done["branch_name"]},
	})
	if !passed { // an error carries its text to the next attempt
		env.Report.Emit(task.EventAgentError, map[string]any{
			"error": "The work did not pass its validation. " + feedback, "error_type": "validation_failed",
			"failure_class": string(task.ClassAgentError), "phase": "validation",
		})
		return
	}
	env.Report.Emit(task.EventContinuousCompleted, map[string]any{
		"stop_reason": "validation_passed", "validation_passed": true, "tests_passed": v.tested, "code_committed": v.clean,
		"iteration_num": 1, "successful_iterations": 1, "final_output": done["final_output"], "branch_name": done["branch_name"],
		"session_id": done["session_id"], "turns": 0, "total_cost_usd": 0,
	})
}
