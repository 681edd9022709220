package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/scenario"
)

func checkProgramHelp() string {
	return `

With the name of a coding agent (` + strings.Join(app.CheckableAgents(), ", ") + `), the check starts the
agent's program on this machine instead. Checks: ` + strings.Join(app.AgentChecks(), ", ") + `.
omoi must take a missing login, the statuses 401, 429 and 500 of the model, an empty answer, a cancelled turn and the end of the
program's input for what they are. The model is an endpoint on this machine that only fails, so the check needs no server, no key
and no network. Some agents repeat a request for minutes: --only names the checks to run. The check runs the program without a
sandbox.`
}

// orProgram makes the name of an agent an argument of the command, which then checks the agent's program.
func (g *globals) orProgram(cmd *cobra.Command) {
	run, only := cmd.RunE, []string{}
	cmd.Use = "agent [name]"
	cmd.Long += checkProgramHelp()
	cmd.Flags().StringSliceVar(&only, "only", nil, "`checks` of an agent's program to run, separated by commas (default: all)")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 1:
			return exit.Usagef("%s takes the name of one agent, for example codex", cmd.CommandPath())
		case len(args) == 0 && len(only) > 0:
			return exit.Usagef("--only needs the name of an agent, for example %s codex", cmd.CommandPath())
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return run(cmd, args)
		}
		return g.checkAgent(cmd.Context(), args[0], only)
	}
}

// checkAgent checks the program of an agent and prints each check as a step.
func (g *globals) checkAgent(ctx context.Context, name string, only []string) error {
	p, steps := g.printer(), []scenario.Step{}
	defer g.onInterrupt(ctx, "Interrupted: ending the program.")()
	err := app.CheckAgent(ctx, name, only, func(f app.AgentCheck) {
		s := scenario.Step{Name: f.Name, Verdict: scenario.Pass, Class: f.Class, Detail: f.Detail, Seconds: f.Took.Seconds()}
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
