package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
	"github.com/omoi-dev/omoi/internal/sandbox/conformance"
)

func newCheck(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "check", Short: "Run end-to-end checks of an installation or a provider"}
	cmd.AddCommand(newCheckProvider(g))
	cmd.AddCommand(newCheckStack(g)...)
	return cmd
}

func newCheckProvider(g *globals) *cobra.Command {
	var only string
	var parallel int
	cmd := &cobra.Command{
		Use: "provider <name>", Short: "Hold a sandbox provider to every promise that omoi builds on",
		Long: `Hold a sandbox provider to every promise that omoi builds on: makes real sandboxes with this machine's settings,
keys included, and removes them. Where sandboxes cost money, so does this: some fifty short ones.
What they are labelled with is made up for each promise, so that sandboxes of work are not touched.

Exit code 0: every promise that could be tried is kept. 1: one is broken. 3: the provider does not answer.
130: interrupted by Ctrl-C; what it made is removed, and what it was trying is not judged.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("%s takes the name of one provider, as local or docker", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			pattern, err := regexp.Compile(only)
			if err != nil {
				return exit.Usagef("--run %s: this is no regular expression", only)
			}
			return g.checkProvider(cmd, args[0], conformance.Options{Only: pattern, Parallel: parallel})
		},
	}
	cmd.Flags().StringVar(&only, "run", "", "only promises whose names match this `regexp`")
	cmd.Flags().IntVar(&parallel, "parallel", 2, "promises that are tried at a time")
	return cmd
}

func (g *globals) checkProvider(cmd *cobra.Command, name string, o conformance.Options) error {
	loaded, err := g.load(nil)
	if err != nil {
		return err
	}
	style := taskcmd.StyleOf(g.stdout, g.variable)
	if !g.json {
		o.Report = func(r conformance.Result) { _, _ = fmt.Fprintln(g.stdout, checkLine(style, r)) }
	}
	ctx := cmd.Context()
	defer context.AfterFunc(ctx, func() {
		_, _ = fmt.Fprintln(g.stderr, "Interrupted: the check judges no more, and removes what it made.")
	})()
	results, err := app.CheckProvider(ctx, loaded, name, o)
	if err != nil && ctx.Err() == nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.Join(exit.With(exit.Interrupted, nil), g.judgeProvider(name, results))
	}
	if len(results) == 0 {
		return exit.Usagef("--run %s fits no promise; without it all are tried", o.Only)
	}
	return g.judgeProvider(name, results)
}

func checkLine(style render.Style, r conformance.Result) string {
	word := fmt.Sprintf("%-11s", r.Outcome)
	switch r.Outcome {
	case conformance.Kept:
		word = style.Green(word)
	case conformance.Broken:
		word = style.Red(word)
	case conformance.Skipped, conformance.Interrupted:
		word = style.Yellow(word)
	}
	line := fmt.Sprintf("%s  %-26s %6s", word, r.Name, time.Duration(r.Seconds*float64(time.Second)).Round(10*time.Millisecond))
	if r.Detail != "" {
		line += "  " + render.Clean(r.Detail)
	}
	return line
}

// judgeProvider says the sum, and answers the exit code.
func (g *globals) judgeProvider(name string, results []conformance.Result) error {
	sum := make(map[conformance.Outcome]int)
	for _, r := range results {
		sum[r.Outcome]++
	}
	kept, broken, skipped, halted := sum[conformance.Kept], sum[conformance.Broken], sum[conformance.Skipped], sum[conformance.Interrupted]
	if g.json {
		sums := map[string]any{"provider": name, "kept": kept, "broken": broken, "skipped": skipped, "interrupted": halted, "promises": results}
		if err := json.NewEncoder(g.stdout).Encode(sums); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	} else {
		word := ""
		if halted > 0 {
			word = fmt.Sprintf(", %d interrupted, not judged", halted)
		}
		_, _ = fmt.Fprintf(g.stdout, "%s: %d kept, %d broken, %d skipped%s; no sandbox of the check is left unless a line above says so\n",
			name, kept, broken, skipped, word)
	}
	if broken > 0 {
		return exit.With(exit.Failed, nil)
	}
	return nil
}
