package cli

import (
	"context"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/scenario"
	"github.com/omoi-dev/omoi/internal/sandbox/conformance"
)

func newCheckProvider(g *globals) *cobra.Command {
	var only string
	var parallel int
	cmd := &cobra.Command{
		Use: "provider <name>", Short: "Run the conformance checks of a sandbox provider",
		Long: `Run the conformance checks of a sandbox provider: creates about fifty sandboxes with this machine's settings
and keys, and deletes them; a provider may charge for them. Each check has labels of its own, so that other sandboxes are
not changed.

Exit code 0: no check failed. 1: one failed. 3: the provider does not answer. 130: interrupted by Ctrl-C; its sandboxes are
deleted.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("%s takes the name of one provider, for example docker", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			pattern, err := regexp.Compile(only)
			if err != nil {
				return exit.Usagef("invalid --run %s: not a regular expression", only)
			}
			return g.checkProvider(cmd.Context(), args[0], conformance.Options{Only: pattern, Parallel: parallel})
		},
	}
	cmd.Flags().StringVar(&only, "run", "", "only checks whose names match this `regexp`")
	cmd.Flags().IntVar(&parallel, "parallel", 2, "number of checks that run at a time")
	return cmd
}

// checkProvider runs the conformance suite and prints each of its checks as a step.
func (g *globals) checkProvider(ctx context.Context, name string, o conformance.Options) error {
	loaded, err := g.load()
	if err != nil {
		return err
	}
	p, number := g.printer(), 0
	o.Report = func(r conformance.Result) {
		number++
		p.Step(number, 0, promiseStep(r))
	}
	defer g.onInterrupt(ctx, "Interrupted: removing what the check created.")()
	promises, err := app.CheckProvider(ctx, loaded, name, o)
	if err != nil && ctx.Err() == nil {
		return err
	}
	if len(promises) == 0 && ctx.Err() == nil {
		return exit.Usagef("--run %s matches no check. Next: omit --run to run all", o.Only)
	}
	steps := make([]scenario.Step, 0, len(promises))
	for _, r := range promises {
		steps = append(steps, promiseStep(r))
	}
	return g.tried(ctx, p, []scenario.Result{scenario.ResultOf("provider "+name, "a sandbox provider passes its conformance checks", steps)})
}

func promiseStep(r conformance.Result) scenario.Step {
	return scenario.Step{Name: r.Name, Verdict: scenario.Verdict(r.Outcome), Detail: r.Detail, Seconds: r.Seconds}
}
