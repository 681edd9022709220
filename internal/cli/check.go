package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/scenario"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
)

// checkTime is the default timeout of a check.
const checkTime = 5 * time.Minute

const checkHelp = `
The check is a client of the API and runs real tasks of the scripted agent, without a model. At its end, also after Ctrl-C
or a failed step, it cancels its tasks, verifies that their sandboxes are deleted, and removes their branches from its own
repository. Tasks of a check that was killed end within --timeout. Projects named omoi-check stay. omoi ps --all lists the
tasks.

Exit code 0: no step failed. 1: a step failed. 3: no server answers. 4: the API key lacks a scope. 130: interrupted.`

func newCheck(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "check", Short: "Run end-to-end checks of an installation or a provider"}
	cmd.AddCommand(newCheckProvider(g))
	for _, c := range scenario.Checks() {
		one := g.checkCommand(c.Name, "Check that "+c.Title, []scenario.Scenario{c})
		if c.Name == "agent" {
			g.orProgram(one)
		}
		cmd.AddCommand(one)
	}
	cmd.AddCommand(g.checkCommand("all", "Run all checks of a running installation", scenario.Checks()))
	return cmd
}

func (g *globals) checkCommand(name, short string, checks []scenario.Scenario) *cobra.Command {
	var o scenario.Config
	cmd := g.command(name, short, func(ctx context.Context, loaded *config.Loaded) error {
		if o.Timeout <= 0 {
			return exit.Usagef("invalid --timeout %s: must be above 0, for example 10m", o.Timeout)
		}
		address, err := taskcmd.BaseURL(g.variable)
		if err != nil {
			return err
		}
		o.API, o.Home = client.New(address, loaded.API.Key.Reveal()), loaded.Home
		return g.try(ctx, o, checks)
	})
	cmd.Long = short + "." + checkHelp
	f := cmd.Flags()
	f.DurationVar(&o.Timeout, "timeout", checkTime, "timeout of a check, without its cleanup")
	taskcmd.ProviderFlag(cmd, &o.Provider, "sandbox provider")
	f.StringVar(&o.Repo, "repo", "", "repository of the checks: owner/name, or a `path` on the server's machine (default: one below OMOI_HOME)")
	return cmd
}

// try runs scenarios and prints the outcome of each step.
func (g *globals) try(ctx context.Context, o scenario.Config, all []scenario.Scenario) error {
	p := g.printer()
	o.Begin, o.Report = p.Begin, p.Step
	defer g.onInterrupt(ctx, "Interrupted: removing what the check created. A second Ctrl-C exits at once.")()
	return g.tried(ctx, p, o.Run(ctx, all))
}

func (g *globals) printer() *scenario.Printer {
	return &scenario.Printer{W: g.stdout, Style: taskcmd.StyleOf(g.stdout, g.variable), JSON: g.json}
}

// onInterrupt prints notice to stderr when ctx ends, unless stop was called before.
func (g *globals) onInterrupt(ctx context.Context, notice string) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _, _ = fmt.Fprintln(g.stderr, notice) })
}

// tried prints the summary of the results and returns an error with their exit code.
func (g *globals) tried(ctx context.Context, p *scenario.Printer, results []scenario.Result) error {
	if err := p.End(results); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return exit.With(exit.Interrupted, nil)
	}
	return scenario.Err(results)
}
