package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/scenario"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
	"github.com/omoi-dev/omoi/internal/client"
)

// checkTime is what the whole way from a ticket to its end may take.
const checkTime = 5 * time.Minute

const checkHelp = `

It asks the server as any client does, and gives real tasks to the scripted agent, which has no model and costs nothing but its
sandboxes. What it makes it ends: its tasks, their sandboxes, which are seen to be gone, and in its own repository their branches.
That holds also for Ctrl-C and where a step fails; what a check that was killed has left ends within --timeout. Projects named
omoi-check stay, for the next time. omoi ps --all shows the tasks.

Exit code 0: no step says FAIL. 1: one does. 3: no server answers. 4: something is not allowed. 130: interrupted.`

func newCheckStack(g *globals) []*cobra.Command {
	commands := make([]*cobra.Command, 0, 1+len(scenario.Checks()))
	for _, c := range scenario.Checks() {
		commands = append(commands, g.checkCommand(c.Name, "Prove that "+c.Title, []scenario.Scenario{c}))
	}
	return append(commands, g.checkCommand("all", "Carry out all checks of a running installation, one after the other", scenario.Checks()))
}

func (g *globals) checkCommand(name, short string, checks []scenario.Scenario) *cobra.Command {
	var o scenario.Config
	cmd := &cobra.Command{
		Use: name, Short: short, Long: short + "." + checkHelp, Args: taskcmd.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Timeout <= 0 {
				return exit.Usagef("--timeout %s: give a time above 0, as 90s or 10m", o.Timeout)
			}
			return g.checkStack(cmd.Context(), o, checks)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.Timeout, "timeout", checkTime, "how long a check may take, without its cleaning up")
	f.StringVar(&o.Sandbox, "sandbox", "", "local, docker or daytona (default: the server's)")
	f.StringVar(&o.Repo, "repo", "", "owner/name, or a `path` on the server's machine, for the checks that need a repository (default: one below OMOI_HOME)")
	return cmd
}

func (g *globals) checkStack(ctx context.Context, o scenario.Config, checks []scenario.Scenario) error {
	loaded, err := g.load(nil)
	if err != nil {
		return err
	}
	address, err := taskcmd.BaseURL("", g.variable)
	if err != nil {
		return err
	}
	o.API, o.Home = client.New(address, loaded.API.Key.Reveal()), loaded.Home
	printer := scenario.Printer{W: g.stdout, Style: taskcmd.StyleOf(g.stdout, g.variable)}
	o.Begin, o.Report = printer.Begin, printer.Step
	if g.json {
		o.Begin, o.Report = func(scenario.Scenario) {}, func(int, int, scenario.Step) {}
	}
	defer context.AfterFunc(ctx, func() {
		_, _ = fmt.Fprintln(g.stderr, "Interrupted: the check ends what it has made. Once more ends it at once.")
	})()
	results := o.Run(ctx, checks)
	if err := g.checked(printer, results, len(checks) > 1); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return exit.With(exit.Interrupted, nil)
	}
	return scenario.Err(results)
}

func (g *globals) checked(p scenario.Printer, results []scenario.Result, many bool) error {
	if g.json {
		return scenario.JSON(g.stdout, results)
	}
	if many {
		p.Summary(results)
	}
	return nil
}
