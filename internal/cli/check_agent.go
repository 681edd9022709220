package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/scenario"
)

const checkProgramHelp = `

With the name of a coding agent (` + "`omoi check agent codex`" + `), the check starts the agent's program on this machine instead: it
names its version, and omoi takes a wrong key, a rate limit, a failing model and a cancelled turn for what they are. The model
is an endpoint on this machine that only fails, so the check needs no server, no key and no network. Some agents repeat a
request for minutes. The check runs the program without a sandbox.`

// orProgram makes the name of an agent an argument of the command, which then checks the agent's program.
func (g *globals) orProgram(cmd *cobra.Command) {
	run := cmd.RunE
	cmd.Use = "agent [name]"
	cmd.Long += checkProgramHelp
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return exit.Usagef("%s takes the name of one agent, for example codex", cmd.CommandPath())
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return run(cmd, args)
		}
		return g.checkAgent(cmd.Context(), args[0])
	}
}

// checkAgent checks the program of an agent and prints each check as a step.
func (g *globals) checkAgent(ctx context.Context, name string) error {
	p, steps := g.printer(), []scenario.Step{}
	defer g.onInterrupt(ctx, "Interrupted: ending the program.")()
	err := app.CheckAgent(ctx, name, func(f app.AgentCheck) {
		s := scenario.Step{Name: f.Name, Verdict: scenario.Pass, Detail: f.Detail, Seconds: f.Took.Seconds()}
		if f.Err != nil {
			s.Verdict = scenario.Fail
			s.Detail, s.Next, _ = strings.Cut(f.Err.Error(), " Next: ")
		}
		steps = append(steps, s)
		p.Step(len(steps), 0, s)
	})
	if err != nil {
		return err
	}
	return g.tried(ctx, p, []scenario.Result{scenario.ResultOf("agent "+name, "the program of an agent behaves as omoi expects", steps)})
}
